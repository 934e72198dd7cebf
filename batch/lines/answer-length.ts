import { runningMean } from "../../platform/running-mean.ts";

/** Tokens that are assumed of an answer of unknown length before any was measured. */
export const USUAL_ANSWER = 256;

/** The expected tokens of a line's answer: a running mean over answered lines. */
export class AnswerLength {
  #mean: number | null = null;

  /** Whole tokens. */
  get tokens(): number {
    return Math.ceil(this.#mean ?? USUAL_ANSWER);
  }

  add(tokens: number): void {
    this.#mean = runningMean(this.#mean, tokens);
  }
}
