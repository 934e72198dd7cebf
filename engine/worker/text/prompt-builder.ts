import { CHARS_PER_TOKEN, type InfillPrompt, type Prompt } from "../../protocol/prompt.ts";
import { noInfill, RequestRefusal, tooLong } from "../../protocol/request-refusal.ts";
import type { Vocabulary } from "../native/vocabulary.ts";
import { infillParts } from "./infill-parts.ts";
import type { Renderer } from "./renderer.ts";
import type { ChatTemplate } from "./template/chat-template.ts";
import { thinkingPlan } from "./template/reasoning-effort.ts";
import type { TextOwner } from "./tokenize-queue.ts";
import type { TextPart, Tokenizer } from "./tokenizer.ts";

export interface BuiltPrompt {
  tokens: number[];
  /** Tokens at the beginning that are not the client's. */
  opening: number;
  startsInReasoning: boolean;
  /** Tokens after which reasoning is closed; null: the engine's default. */
  thoughtBudget: number | null;
}

export interface PromptBuilderParts {
  vocabulary: Pick<Vocabulary, "addBos" | "bos" | "infill" | "piece">;
  tokenizer: Pick<Tokenizer, "tokens" | "mostBytes">;
  template: Pick<ChatTemplate, "thinking" | "continued">;
  renderer: Pick<Renderer, "render">;
  /** The longest request in tokens. */
  context: number;
  now: () => Date;
}

/** Renders a prompt and turns it into tokens. */
export class PromptBuilder {
  readonly #parts: PromptBuilderParts;

  constructor(parts: PromptBuilderParts) {
    this.#parts = parts;
  }

  /**
   * Null when the request is cancelled meanwhile.
   *
   * @throws RequestRefusal for messages that the model's template refuses, for a suffix where the model has no tokens for
   * it, and for texts of more bytes than the context's tokens can have
   */
  async build(prompt: Prompt, owner: TextOwner): Promise<BuiltPrompt | null> {
    const plain = { startsInReasoning: false, thoughtBudget: null };
    if (prompt.kind === "tokens") return { tokens: prompt.tokens, opening: 0, ...plain };
    if (prompt.kind === "infill") {
      const tokens = await this.#infillTokens(prompt, owner);
      return tokens === null ? null : { tokens, opening: 0, ...plain };
    }
    const { vocabulary, template, renderer, now } = this.#parts;
    const opening = openingOf(vocabulary);
    if (prompt.kind === "text") {
      // All of a plain prompt is the user's: none of its text may become a control token.
      const tokens = await this.#tokens(prompt.kind, [...opening, { text: prompt.text, special: false }], owner);
      return tokens === null ? null : { tokens, opening: opening.length, ...plain };
    }
    const { variables, budget } = thinkingPlan(prompt.thinking, template.thinking);
    const { messages, tools } = prompt;
    const chat = { messages, tools, variables: { ...variables, ...prompt.variables } };
    const rendered = await renderer.render(chat, now(), owner);
    if (rendered === null || !owner.isWanted()) return null;
    const { answerStart } = prompt;
    const { pieces, startsInReasoning, startsWithBos } =
      answerStart === undefined ? rendered : template.continued(rendered, answerStart);
    const parts = pieces.map(({ text, literal }) => ({ text, special: !literal }));
    const tokens = await this.#tokens(prompt.kind, startsWithBos ? parts : [...opening, ...parts], owner);
    return tokens === null ? null : { tokens, opening: 0, startsInReasoning, thoughtBudget: budget };
  }

  /** The text of a token prompt, for echo. */
  text(tokens: readonly number[]): string {
    return Buffer.concat(tokens.map((token) => this.#parts.vocabulary.piece(token))).toString();
  }

  /** The first tokens of other files are left out where they would leave the answer less room than the request asks for. */
  async #infillTokens(prompt: InfillPrompt, owner: TextOwner): Promise<number[] | null> {
    const { context, vocabulary } = this.#parts;
    if (vocabulary.infill === null) throw new RequestRefusal(noInfill());
    const { files, text } = infillParts(prompt, vocabulary.infill, openingOf(vocabulary));
    this.#checkBytes(prompt.kind, [...files, ...text]);
    const own = await this.#joined(text, owner);
    const before = await this.#joined(files, owner);
    if (own === null || before === null) return null;
    const answer = prompt.repository?.answerTokens ?? Math.floor(context / 4);
    const room = Math.max(0, context - 1 - own.length - answer);
    return [...before.slice(Math.max(0, before.length - room)), ...own];
  }

  async #tokens(
    kind: Prompt["kind"],
    parts: readonly (TextPart | number)[],
    owner: TextOwner,
  ): Promise<number[] | null> {
    this.#checkBytes(kind, parts);
    return this.#joined(parts, owner);
  }

  #checkBytes(kind: Prompt["kind"], parts: readonly (TextPart | number)[]): void {
    const { context, tokenizer } = this.#parts;
    const bytes = parts.filter(isText).reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
    if (bytes <= tokenizer.mostBytes(context)) return;
    const size = `${bytes} bytes, which are more than that`;
    throw new RequestRefusal(tooLong(kind, context, Math.ceil(bytes / CHARS_PER_TOKEN), size));
  }

  /** The tokens of texts and the given tokens, one after the other; null when the request is cancelled meanwhile. */
  async #joined(parts: readonly (TextPart | number)[], owner: TextOwner): Promise<number[] | null> {
    const lists = await this.#parts.tokenizer.tokens(parts.filter(isText), owner);
    if (lists === null) return null;
    const tokens: number[] = [];
    let next = 0;
    for (const part of parts) {
      if (!isText(part)) tokens.push(part);
      else for (const token of lists[next++]!) tokens.push(token);
    }
    return tokens;
  }
}

function isText(part: TextPart | number): part is TextPart {
  return typeof part !== "number";
}

/** The token that begins every text, where the model has one. */
export function openingOf({ addBos, bos }: Pick<Vocabulary, "addBos" | "bos">): number[] {
  return addBos ? [bos] : [];
}
