/** An answer of unknown length, before any was measured. */
export const USUAL_ANSWER = 256;

/** The weight of the latest in the running mean. */
const LATEST = 1 / 16;

/** How many tokens the answer of a line has, going by late ones. */
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
