import type { ChatMessage, FunctionTool } from "../../../protocol/prompt.ts";
import { RequestRefusal } from "../../../protocol/request-refusal.ts";
import { toolFormat } from "../../../tools/format-list.ts";
import type { ToolFormat } from "../../../tools/syntax/format.ts";
import type { ReasoningTags } from "../output/reasoning-tags.ts";
import { JinjaTemplate, OWN_NAMES, TemplateRefusal } from "./jinja-template.ts";
import type { ThinkingTraits } from "./reasoning-effort.ts";
import { type Guard, type PromptPiece, SpecialTokenEscaping } from "./special-token-escaping.ts";
import { SpecialTokens } from "./special-tokens.ts";
import { templateDates } from "./template-dates.ts";
import { type TemplateMessage, templateMessages } from "./template-messages.ts";
import { reasoningTags, type TemplateTraits, templateTraits } from "./template-traits.ts";
import { functionVariables } from "./template-trial.ts";
import { chosenFormat, FALLBACK_FORMAT } from "./tool-format-choice.ts";
import { templateTool } from "./tool-prompt.ts";
import { withTurnOpened } from "./turn-opening.ts";

const CHATML =
  "{% for message in messages %}{{ '<|im_start|>' + message.role + '\\n' + (message.content or '') + '<|im_end|>\\n' }}" +
  "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

const LONGEST_REASON = 300;

/** The part of a model's vocabulary that its template needs. */
export interface TemplateVocabulary {
  /** Texts of the tokens that begin and end a text; "" for none. */
  bos: string;
  eos: string;
  /** Texts of the tokens that only a tokenizer which parses special tokens produces (types CONTROL and UNKNOWN). */
  specialTokens: string[];
  /** Whether one token, of any type, has this text. */
  hasToken?: (text: string) => boolean;
}

/** Plain data from which another thread makes an equal ChatTemplate. */
export interface TemplateSource {
  source: string | null;
  vocabulary: Omit<TemplateVocabulary, "hasToken">;
  /** Tokens' texts that decide which tags enclose reasoning. */
  tagTokens: string[];
  format: string | null;
}

export interface RenderedPrompt {
  /** In order; their texts together are the prompt. */
  pieces: PromptPiece[];
  /** True when the template wrote the BOS token: the tokenizer must not add another. */
  startsWithBos: boolean;
  /** True when the prompt ends with an open reasoning tag: the first generated text is reasoning. */
  startsInReasoning: boolean;
}

/** Messages and tools in the form that a template accepts. */
export interface AdaptedChat {
  messages: TemplateMessage[];
  /** Empty or null for none, as the template accepts. */
  tools: unknown[] | null;
  /** Further variables that list the tools. */
  listed: Record<string, unknown>;
}

/** The messages can't be rendered. */
export class TemplateError extends RequestRefusal {
  override readonly name = "TemplateError";

  constructor(code: "invalid_value" | "template_error", param: string, message: string) {
    super({ code, param, message });
  }
}

/**
 * A model's chat template.
 *
 * No text of a client can forge a role. Special tokens in it are replaced while the template renders (see
 * `SpecialTokenEscaping`). A template can still make one out of ordinary text: `'<' + name + '>'`, or `replace('<image>', '')`
 * between two halves. So the messages are rendered a second time, closed against that, if they hold any part of a special
 * token; and when the special tokens of the two renderings differ, the closed one is the prompt.
 */
export class ChatTemplate {
  /** True when ChatML is used instead, for the reason in `warning`. */
  readonly fallback: boolean;
  readonly warning: string | null;
  /** The reason why the given template is not in use; null where it is, and where none was given. */
  readonly fault: string | null;
  readonly reasoningTags: ReasoningTags | null;
  /** The model's format of tool calls, by its template or the option. */
  readonly toolFormat: ToolFormat;
  /** The message for requests with tools, where these are refused; else null. */
  readonly toolRefusal: string | null;
  /** Plain data. */
  readonly parts: TemplateSource;
  readonly #template: JinjaTemplate;
  readonly #vocabulary: TemplateVocabulary;
  readonly #tokens: SpecialTokens;
  readonly #traits: TemplateTraits;

  static of({ source, vocabulary, tagTokens, format }: TemplateSource): ChatTemplate {
    return new ChatTemplate(source, { ...vocabulary, hasToken: (text) => tagTokens.includes(text) }, format);
  }

  /** @param format names the tool format; null: the template decides */
  constructor(source: string | null, vocabulary: TemplateVocabulary, format: string | null = null) {
    const { template, traits, warning, fault } = usable(source);
    this.#template = template;
    this.warning = warning;
    this.fault = fault;
    this.fallback = warning !== null;
    this.#vocabulary = vocabulary;
    this.#tokens = new SpecialTokens([...vocabulary.specialTokens, vocabulary.bos, vocabulary.eos]);
    this.#traits = traits;
    const choice =
      format === null ? chosenFormat(template.source, traits) : { format: toolFormat(format), refusal: null };
    this.toolFormat = choice.format;
    this.toolRefusal = choice.refusal === null ? null : toolRefusal(choice.refusal);
    const { hasToken = () => false, ...texts } = vocabulary;
    this.reasoningTags = this.toolFormat.reasoningTags ?? reasoningTags(template.source, hasToken);
    const tagTokens = this.reasoningTags === null ? [] : [this.reasoningTags.open, this.reasoningTags.close];
    this.parts = { source, vocabulary: texts, tagTokens, format };
  }

  /** The defects of the template, for the log and the doctor. */
  get warnings(): string[] {
    const { faults } = this.#traits;
    const failing = faults.map((fault) => `The model's chat template fails on ${fault}.`);
    return [this.warning, this.toolRefusal, ...failing].filter((warning) => warning !== null);
  }

  /** The template's controls of how much the model reasons. */
  get thinking(): ThinkingTraits {
    return this.#traits.thinking;
  }

  /** Beginnings of an answer that the template writes into prompts, which histories do not have as a whole. */
  get openings(): readonly string[] {
    return this.#traits.openings;
  }

  /**
   * Renders the messages and the beginning of the assistant's turn (unless `variables.add_generation_prompt` is
   * false). A last message of the assistant is a finished turn, as for OpenAI, and a new one begins after it.
   *
   * @param now for templates that write the date
   * @throws TemplateError
   */
  render(
    messages: ChatMessage[],
    variables: Record<string, unknown>,
    now: Date,
    tools: readonly FunctionTool[] = [],
  ): RenderedPrompt {
    for (const name of Object.keys(variables)) {
      if (OWN_NAMES.has(name)) {
        throw new TemplateError("invalid_value", "chat_template_kwargs", `The template sets '${name}' itself.`);
      }
    }
    const { messages: shaped, tools: rendered, listed } = this.adapted(messages, tools);
    const userText = JSON.stringify([shaped, variables, rendered, listed]);
    const escaping = new SpecialTokenEscaping(this.#tokens, this.#template.source, userText);
    const guarded = (guard: Guard) => ({
      // A role is one of the protocol's names, which templates compare and write between special tokens.
      messages: shaped.map(({ role, ...rest }) => ({ ...(escaping.protect(rest, guard) as object), role })),
      tools: escaping.protect(rendered, guard),
      ...Object.fromEntries(
        Object.entries({ ...listed, ...variables }).map(([name, value]) => [name, escaping.protect(value, guard)]),
      ),
    });
    try {
      const pieces = escaping.split(this.#rendered(guarded, now));
      return { pieces, startsWithBos: this.#startsWithBos(pieces), startsInReasoning: this.#endsInThought(pieces) };
    } catch (error) {
      throw templateError(error, escaping);
    }
  }

  /**
   * A prompt with the beginning of its answer.
   *
   * @throws TemplateError where more than the generation prompt precedes the text of an answer
   */
  continued({ pieces, ...rest }: RenderedPrompt, answerStart: string): RenderedPrompt {
    if (rest.startsInReasoning || this.toolFormat.answer !== undefined) {
      const message =
        "The model cannot continue an answer, since its answers begin with reasoning or a header: end the messages with one of the user.";
      throw new TemplateError("invalid_value", "messages", message);
    }
    return { ...rest, pieces: [...pieces, { text: answerStart, literal: true }] };
  }

  /**
   * The messages and tools in the form that the template accepts.
   *
   * @throws TemplateError
   */
  adapted(messages: ChatMessage[], tools: readonly FunctionTool[]): AdaptedChat {
    if (tools.length > 0 && this.toolRefusal !== null) {
      throw new TemplateError("template_error", "tools", this.toolRefusal);
    }
    const example = this.#traits.calls ? this.toolFormat.example : undefined;
    if (tools.length > 0 && !this.#traits.tools && !example && this.toolFormat.name !== FALLBACK_FORMAT) {
      throw new TemplateError(
        "invalid_value",
        "tools",
        `The model's chat template takes no tools, and --tool-format ${this.toolFormat.name} has no prompt of its own; ` +
          `${FALLBACK_FORMAT} has.`,
      );
    }
    const { toolFields, noTools, functions } = this.#traits;
    const described =
      tools.length > 0 && this.#traits.tools ? tools.map((tool) => templateTool(tool, toolFields)) : noTools;
    return {
      messages: templateMessages(messages, this.#traits, tools, example),
      tools: described,
      listed: functions ? functionVariables(described ?? []) : {},
    };
  }

  #rendered(guarded: (guard: Guard) => Record<string, unknown>, now: Date): string {
    const { bos, eos } = this.#vocabulary;
    const defaults = { documents: null, add_generation_prompt: true, ...templateDates(now) };
    const own = { bos_token: bos, eos_token: eos };
    const plain = (values: Record<string, unknown>) => this.#template.render({ ...defaults, ...values, ...own }, now);
    const { textBehindCalls } = this.#traits;
    const render = (values: Record<string, unknown>) =>
      textBehindCalls ? withTurnOpened(plain, values) : plain(values);
    const open = guarded("open");
    const closed = guarded("closed");
    const rendered = render(open);
    if (JSON.stringify(open) === JSON.stringify(closed)) return rendered;
    const safe = render(closed);
    return this.#specialTokensOf(rendered) === this.#specialTokensOf(safe) ? rendered : safe;
  }

  #specialTokensOf(rendered: string): string {
    return (rendered.match(this.#tokens.whole) ?? []).join("\0");
  }

  #startsWithBos([first]: PromptPiece[]): boolean {
    const { bos } = this.#vocabulary;
    return bos !== "" && first !== undefined && !first.literal && first.text.startsWith(bos);
  }

  #endsInThought(pieces: PromptPiece[]): boolean {
    const last = pieces.at(-1);
    if (this.reasoningTags === null || last === undefined || last.literal) return false;
    return last.text.trimEnd().endsWith(this.reasoningTags.open);
  }
}

function toolRefusal(reason: string): string {
  return `The model's chat template can't be used with tools: ${reason}. --tool-format sets a format of calls.`;
}

function usable(source: string | null): {
  template: JinjaTemplate;
  traits: TemplateTraits;
  warning: string | null;
  fault: string | null;
} {
  try {
    if (source !== null) return { ...tried(source), warning: null, fault: null };
  } catch (error) {
    const fault = reasonOf(error).slice(0, LONGEST_REASON);
    const warning = `The model's chat template can't be used (${fault}); ChatML replaces it.`;
    return { ...tried(CHATML), warning, fault };
  }
  return { ...tried(CHATML), warning: "The model has no chat template; ChatML replaces it.", fault: null };
}

/** @throws Error for a source that is not Jinja; EndlessTemplate for one that does not end */
function tried(source: string): { template: JinjaTemplate; traits: TemplateTraits } {
  const template = new JinjaTemplate(source);
  return { template, traits: templateTraits(template) };
}

function templateError(error: unknown, escaping: SpecialTokenEscaping): TemplateError {
  const reason = escaping.restore(reasonOf(error)).slice(0, LONGEST_REASON);
  return error instanceof TemplateRefusal
    ? new TemplateError("invalid_value", "messages", `The model's chat template refuses these messages: ${reason}`)
    : new TemplateError("template_error", "messages", `The model's chat template fails on these messages: ${reason}`);
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
