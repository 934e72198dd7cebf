import type { Prompt } from "../../protocol/prompt.ts";
import { RequestRefusal, tooLong } from "../../protocol/request-refusal.ts";
import type { Vocabulary } from "../native/vocabulary.ts";
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
  vocabulary: Pick<Vocabulary, "addBos" | "bos" | "piece">;
  tokenizer: Pick<Tokenizer, "tokens" | "mostBytes">;
  template: Pick<ChatTemplate, "thinking">;
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
   * @throws RequestRefusal for messages that the model's template refuses, and for texts of more bytes than the context's
   * tokens can have
   */
  async build(prompt: Prompt, owner: TextOwner): Promise<BuiltPrompt | null> {
    const plain = { startsInReasoning: false, thoughtBudget: null };
    if (prompt.kind === "tokens") return { tokens: prompt.tokens, opening: 0, ...plain };
    const { vocabulary, template, renderer, now } = this.#parts;
    const opening = openingOf(vocabulary);
    if (prompt.kind === "text") {
      // All of a plain prompt is the user's: none of its text may become a control token.
      const tokens = await this.#tokens(prompt.kind, [{ text: prompt.text, special: false }], opening, owner);
      return tokens === null ? null : { tokens, opening: opening.length, ...plain };
    }
    const { variables, budget } = thinkingPlan(prompt.thinking, template.thinking);
    const { messages, tools } = prompt;
    const chat = { messages, tools, variables: { ...variables, ...prompt.variables } };
    const rendered = await renderer.render(chat, now(), owner);
    if (rendered === null || !owner.isWanted()) return null;
    const { startsInReasoning, startsWithBos } = rendered;
    const parts = rendered.pieces.map(({ text, literal }) => ({ text, special: !literal }));
    const tokens = await this.#tokens(prompt.kind, parts, startsWithBos ? [] : opening, owner);
    return tokens === null ? null : { tokens, opening: 0, startsInReasoning, thoughtBudget: budget };
  }

  /** The text of a token prompt, for echo. */
  text(tokens: readonly number[]): string {
    return Buffer.concat(tokens.map((token) => this.#parts.vocabulary.piece(token))).toString();
  }

  async #tokens(
    kind: Prompt["kind"],
    parts: readonly TextPart[],
    opening: readonly number[],
    owner: TextOwner,
  ): Promise<number[] | null> {
    const { context, tokenizer } = this.#parts;
    const bytes = parts.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
    if (bytes > tokenizer.mostBytes(context)) {
      throw new RequestRefusal(tooLong(kind, context, `${bytes} bytes, which are more than that`));
    }
    const lists = await tokenizer.tokens(parts, owner);
    if (lists === null) return null;
    const tokens = [...opening];
    for (const list of lists) for (const token of list) tokens.push(token);
    return tokens;
  }
}

/** The token that begins every text, where the model has one. */
export function openingOf({ addBos, bos }: Pick<Vocabulary, "addBos" | "bos">): number[] {
  return addBos ? [bos] : [];
}
