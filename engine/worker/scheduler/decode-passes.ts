import { isDecode, type Sequence } from "./scheduled-sequence.ts";
import { isOnline } from "./tiers.ts";

/**
 * The tokens that llama.cpp computes in one pass over the weights.
 *
 * | passes | tokens | models |
 * |---|---|---|
 * | mixed | any | with attention alone, in a unified cache |
 * | equal | equally many of each sequence | hybrid ones in a unified cache |
 * | consecutive | the same, of consecutive ids | hybrid ones in a split cache, all recurrent ones, and all in a split cache |
 */
export type Passes = "mixed" | "equal" | "consecutive";

/**
 * The passes that llama.cpp takes for a step of one kind, as a plan predicts them: one for every run of ids that decodes, or a
 * single one where ids need not be consecutive, and one for every length among the chunks of prompts (these start side by side).
 *
 * Before the step, online streams are moved next to each other, and decodes of lower tiers next to them
 * (SplitCache.settle).
 */
export class DecodePasses {
  readonly #passes: Exclude<Passes, "mixed">;
  /** Ids of lower tiers that decode. */
  readonly #lower = new Set<number>();
  /** Lengths of the chunks. */
  readonly #chunks = new Set<number>();
  /** Runs of consecutive ids among those of lower tiers. */
  #runs = 0;
  /** True when an online sequence decodes. */
  #streams = false;

  constructor(passes: Exclude<Passes, "mixed">) {
    this.#passes = passes;
  }

  /** The passes with one more sequence in the step. */
  with(sequence: Sequence, count: number): number {
    if (!isDecode(sequence)) return this.#chunks.size + (this.#chunks.has(count) ? 0 : 1);
    return this.#passes === "equal" || this.#streams || isOnline(sequence)
      ? 1
      : this.#runs + this.#runsAddedBy(sequence.id);
  }

  add(sequence: Sequence, count: number): void {
    if (!isDecode(sequence)) this.#chunks.add(count);
    else if (isOnline(sequence)) this.#streams = true;
    else {
      this.#runs += this.#runsAddedBy(sequence.id);
      this.#lower.add(sequence.id);
    }
  }

  /** Number of runs that an id adds: one, none, or minus one where it joins two. */
  #runsAddedBy(id: number): number {
    return 1 - (this.#lower.has(id - 1) ? 1 : 0) - (this.#lower.has(id + 1) ? 1 : 0);
  }
}
