import { isDecode, isOnline, type Sequence } from "./scheduled-sequence.ts";

/**
 * The passes over the weights that llama.cpp takes for a step of one kind in a split cache, as a plan foresees them. One
 * computes as many tokens of each of its sequences, and these have consecutive ids: a pass for every run of ids that
 * decodes, and one for every length among the chunks of prompts (those start side by side).
 *
 * Online streams are brought together before the step, and riders next to them (SplitCache.settle).
 */
export class DecodePasses {
  readonly #riders = new Set<number>();
  readonly #chunks = new Set<number>();
  #runs = 0;
  #streams = false;

  /** With one more sequence in the step. */
  with(sequence: Sequence, count: number): number {
    if (!isDecode(sequence)) return this.#chunks.size + (this.#chunks.has(count) ? 0 : 1);
    return this.#streams || isOnline(sequence) ? 1 : this.#runs + this.#more(sequence.id);
  }

  add(sequence: Sequence, count: number): void {
    if (!isDecode(sequence)) this.#chunks.add(count);
    else if (isOnline(sequence)) this.#streams = true;
    else {
      this.#runs += this.#more(sequence.id);
      this.#riders.add(sequence.id);
    }
  }

  /** How many runs more there are with an id: one, none, or one less where it joins two. */
  #more(id: number): number {
    return 1 - (this.#riders.has(id - 1) ? 1 : 0) - (this.#riders.has(id + 1) ? 1 : 0);
  }
}
