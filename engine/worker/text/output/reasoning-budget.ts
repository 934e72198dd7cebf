import type { SequenceText } from "./sequence-text.ts";

/** Tokens that an incomplete character gets before the reasoning is closed in the middle of it. */
const MOST_FOR_CHARACTER = 3;

/**
 * Closes a sequence's reasoning when its budget of tokens is used: from then on the tokens of the close tag replace the drawn
 * ones, one per step, and the model continues with its answer. Once: reasoning that an answer opens again is text. And only where
 * the answer's grammar allows the close tag: a grammar may require the open tag as text.
 */
export class ReasoningBudget {
  readonly #tokens: number;
  readonly #closing: readonly number[];
  /** Tokens of the close tag so far. */
  #taken = 0;
  #waited = 0;

  /**
   * @param tokens most tokens of the reasoning, without the close tag
   * @param closing the close tag's tokens, at least one
   */
  constructor(tokens: number, closing: readonly number[]) {
    this.#tokens = tokens;
    this.#closing = closing;
  }

  /**
   * The token to take in place of `drawn`.
   *
   * @param text has all tokens before it
   * @param allows whether the grammar allows a token next
   */
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
