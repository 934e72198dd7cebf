import type { ChatMessage, FunctionTool } from "../../../protocol/prompt.ts";
import { RequestRefusal } from "../../../protocol/refusal.ts";
import { recognise, toolFormat } from "../../../tools/formats.ts";
import type { ToolFormat } from "../../../tools/syntax/format.ts";
import type { ReasoningTags } from "../output/reasoning-tags.ts";
import { JinjaTemplate, OWN_NAMES, TemplateRefusal } from "./jinja-template.ts";
import type { ThinkingTraits } from "./reasoning-effort.ts";
import { type Guard, type PromptPiece, StandIns } from "./special-token-escaping.ts";
import { SpecialTokens } from "./special-tokens.ts";
import { templateMessages } from "./template-messages.ts";
import { reasoningTags, type TemplateTraits, templateTraits } from "./template-traits.ts";
import { templateTool } from "./tool-prompt.ts";

const CHATML =
  "{% for message in messages %}{{ '<|im_start|>' + message.role + '\\n' + (message.content or '') + '<|im_end|>\\n' }}" +
  "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

const LONGEST_REASON = 300;
/** The one that tools are told of in where the template does not show them. */
const FALLBACK_FORMAT = "hermes";
/** For templates that show tools and name no format: bare JSON is what they ask for. */
const UNNAMED_FORMAT = "llama";

/** What of a model's vocabulary its template needs. */
export interface TemplateVocabulary {
  /** Texts of the tokens that begin and end a text; "" where there is none. */
  bos: string;
  eos: string;
  /** Texts of the tokens that a tokenizer makes only when it parses special tokens (types CONTROL and UNKNOWN). */
  specialTokens: string[];
  /** Whether one token, of any type, has this text. */
  hasToken?: (text: string) => boolean;
}

/** What an equal ChatTemplate is made of on another thread. */
export interface TemplateSource {
  source: string | null;
  vocabulary: Omit<TemplateVocabulary, "hasToken">;
  /** Tokens' texts that tell which tags stand around thoughts. */
  tagTokens: string[];
  format: string | null;
}

export interface RenderedPrompt {
  /** In order; their texts together are the prompt. */
  pieces: PromptPiece[];
  /** The template wrote the BOS token itself: the tokenizer must not add another. */
  startsWithBos: boolean;
  /** The prompt ends with an opened thought: the first generated text is reasoning. */
  startsInReasoning: boolean;
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
 * No text of a client can forge a role. Its special tokens are stand-ins while the template renders (see `StandIns`).
 * A template can still make one out of ordinary text: `'<' + name + '>'`, or `replace('<image>', '')` between two
 * halves. So the messages are rendered a second time, closed against that, if they hold anything it could be made of;
 * and when the special tokens of the two renderings differ, the closed one is the prompt.
 */
export class ChatTemplate {
  /** True: ChatML stands in, for the reason that `warning` gives. */
  readonly fallback: boolean;
  readonly warning: string | null;
  readonly reasoningTags: ReasoningTags | null;
  /** How the model writes tool calls, as far as its template tells. */
  readonly toolFormat: ToolFormat;
  /** Plain data. */
  readonly parts: TemplateSource;
  readonly #template: JinjaTemplate;
  readonly #vocabulary: TemplateVocabulary;
  readonly #tokens: SpecialTokens;
  readonly #traits: TemplateTraits;

  static of({ source, vocabulary, tagTokens, format }: TemplateSource): ChatTemplate {
    return new ChatTemplate(source, { ...vocabulary, hasToken: (text) => tagTokens.includes(text) }, format);
  }

  /** `format` names the tool format where the template is not to decide. */
  constructor(source: string | null, vocabulary: TemplateVocabulary, format: string | null = null) {
    const { template, traits, warning } = usable(source);
    this.#template = template;
    this.warning = warning;
    this.fallback = warning !== null;
    this.#vocabulary = vocabulary;
    this.#tokens = new SpecialTokens([...vocabulary.specialTokens, vocabulary.bos, vocabulary.eos]);
    this.#traits = traits;
    this.toolFormat = format === null ? formatOf(template.source, this.#traits) : toolFormat(format);
    const { hasToken = () => false, ...texts } = vocabulary;
    this.reasoningTags = reasoningTags(template.source, hasToken);
    const tagTokens = this.reasoningTags === null ? [] : [this.reasoningTags.open, this.reasoningTags.close];
    this.parts = { source, vocabulary: texts, tagTokens, format };
  }

  /** The means that it has to steer how much the model thinks. */
  get thinking(): ThinkingTraits {
    return this.#traits.thinking;
  }

  /**
   * Renders the messages and the beginning of the assistant's turn (unless `variables.add_generation_prompt` is
   * false). A last message of the assistant is a finished turn, as for OpenAI, and a new one begins after it.
   * `now` is for templates that write the date. Throws a `TemplateError`.
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
    if (tools.length > 0 && !this.#traits.tools && this.toolFormat.name !== FALLBACK_FORMAT) {
      throw new TemplateError(
        "invalid_value",
        "tools",
        `The model's chat template takes no tools, and --tool-format ${this.toolFormat.name} has no prompt of its own; ` +
          `${FALLBACK_FORMAT} has.`,
      );
    }
    const shaped = templateMessages(messages, this.#traits, tools);
    const { describedArguments, noTools } = this.#traits;
    const shown =
      tools.length > 0 && this.#traits.tools ? tools.map((tool) => templateTool(tool, describedArguments)) : noTools;
    const userText = JSON.stringify([shaped, variables, shown]);
    const standIns = new StandIns(this.#tokens, this.#template.source, userText);
    const guarded = (guard: Guard) => ({
      // A role is one of the protocol's names, which templates compare and write between special tokens.
      messages: shaped.map(({ role, ...rest }) => ({ ...(standIns.protect(rest, guard) as object), role })),
      tools: standIns.protect(shown, guard),
      ...Object.fromEntries(Object.entries(variables).map(([name, value]) => [name, standIns.protect(value, guard)])),
    });
    try {
      const pieces = standIns.split(this.#rendered(guarded, now));
      return { pieces, startsWithBos: this.#startsWithBos(pieces), startsInReasoning: this.#endsInThought(pieces) };
    } catch (error) {
      throw templateError(error, standIns);
    }
  }

  #rendered(guarded: (guard: Guard) => Record<string, unknown>, now: Date): string {
    const { bos, eos } = this.#vocabulary;
    const defaults = { documents: null, add_generation_prompt: true };
    const own = { bos_token: bos, eos_token: eos };
    const render = (values: Record<string, unknown>) => this.#template.render({ ...defaults, ...values, ...own }, now);
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

function formatOf(source: string, traits: TemplateTraits): ToolFormat {
  const named = recognise(source);
  if (named?.always || traits.tools) return named ?? toolFormat(UNNAMED_FORMAT);
  return toolFormat(FALLBACK_FORMAT);
}

function usable(source: string | null): { template: JinjaTemplate; traits: TemplateTraits; warning: string | null } {
  try {
    if (source !== null) return { ...tried(source), warning: null };
  } catch (error) {
    const reason = reasonOf(error).slice(0, LONGEST_REASON);
    const warning = `The model's chat template can't be used (${reason}); ChatML stands in for it.`;
    return { ...tried(CHATML), warning };
  }
  return { ...tried(CHATML), warning: "The model has no chat template; ChatML stands in for it." };
}

/** Throws where it is no Jinja, or does not end. */
function tried(source: string): { template: JinjaTemplate; traits: TemplateTraits } {
  const template = new JinjaTemplate(source);
  return { template, traits: templateTraits(template) };
}

function templateError(error: unknown, standIns: StandIns): TemplateError {
  const reason = standIns.restore(reasonOf(error)).slice(0, LONGEST_REASON);
  return error instanceof TemplateRefusal
    ? new TemplateError("invalid_value", "messages", `The model's chat template refuses these messages: ${reason}`)
    : new TemplateError("template_error", "messages", `The model's chat template fails on these messages: ${reason}`);
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
