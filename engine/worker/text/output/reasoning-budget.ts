import type { SequenceText } from "./sequence-text.ts";

/** Tokens that a character may take to become whole before its thought is closed in the middle of it. */
const MOST_FOR_CHARACTER = 3;

/**
 * Closes a sequence's thoughts when they have had their tokens: from then on the tokens of the close tag are taken in
 * place of those that are drawn, one per step, and the model goes on with its answer. Once: a thought that an answer
 * opens again is text. And where the answer's grammar allows: one that asks for the open tag itself, as text, may hold
 * what looks like a thought and must not be left.
 */
export class ReasoningBudget {
  readonly #tokens: number;
  readonly #closing: readonly number[];
  /** Tokens of the close tag that were taken. */
  #taken = 0;
  #waited = 0;

  /**
   * @param tokens most tokens of the thoughts; the close tag comes on top
   * @param closing the close tag's tokens, at least one
   */
  constructor(tokens: number, closing: readonly number[]) {
    this.#tokens = tokens;
    this.#closing = closing;
  }

  /** The token to take in place of `drawn`; `text` has all tokens before it, `allows` tells what may come next. */
  take(
    drawn: number,
    text: Pick<SequenceText, "thinking" | "reasoningTokens" | "midCharacter">,
    allows: (token: number) => boolean = () => true,
  ): number {
    if (this.#taken === this.#closing.length) return drawn;
    if (this.#taken === 0) {
      if (!text.thinking || text.reasoningTokens < this.#tokens) return drawn;
      if (text.midCharacter && this.#waited++ < MOST_FOR_CHARACTER) return drawn;
    }
    const next = this.#closing[this.#taken]!;
    const allowed = allows(next);
    this.#taken = allowed ? this.#taken + 1 : this.#closing.length;
    return allowed ? next : drawn;
  }
}
