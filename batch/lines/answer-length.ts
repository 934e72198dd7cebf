/** Tokens that are assumed of an answer of unknown length before any was measured. */
export const USUAL_ANSWER = 256;

/** The weight of the latest answer in the moving average. */
const LATEST = 1 / 16;

/** The expected tokens of a line's answer: a moving average over answered lines. */
export class AnswerLength {
  #mean: number | null = null;

  /** Whole tokens. */
  get tokens(): number {
    return Math.ceil(this.#mean ?? USUAL_ANSWER);
  }

  add(tokens: number): void {
    this.#mean = this.#mean === null ? tokens : this.#mean + (tokens - this.#mean) * LATEST;
  }
}
