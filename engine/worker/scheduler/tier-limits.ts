import type { Tier } from "../../protocol/request.ts";
import { isOnline, type Sequence } from "./scheduled-sequence.ts";

/** The share of the places of lower tiers that flex leaves to batch. */
const BATCH_SHARE = 1 / 4;

export interface TierPlacesOptions {
  /** Sequences that may run at once. */
  sequences: number;
  /** Of these, those that flex and batch leave free for online work; fewer than `sequences`. */
  reserved: number;
}

/** How many sequences of which tier may run at once. */
export class TierPlaces {
  /** Of flex. */
  readonly flex: number;
  /** Those that flex leaves to batch, which may have all that lower tiers may have. */
  readonly batch: number;
  readonly #all: number;
  readonly #lower: number;

  constructor({ sequences, reserved }: TierPlacesOptions) {
    this.#all = sequences;
    this.#lower = sequences - reserved;
    this.batch = Math.floor(this.#lower * BATCH_SHARE);
    this.flex = this.#lower - this.batch;
  }

  /** Whether one more of a sequence's tier would be too many, however much room there is. */
  full(sequence: Sequence, running: readonly Sequence[]): boolean {
    if (running.length >= this.#all) return true;
    if (isOnline(sequence)) return false;
    return this.#lowerFull(running) || (sequence.tier === "flex" && this.#flexFull(running));
  }

  /** Whether batch alone may start: flex has its share, and batch has places free. */
  leftToBatch(running: readonly Sequence[]): boolean {
    return running.length < this.#all && this.#flexFull(running) && !this.#lowerFull(running);
  }

  #flexFull(running: readonly Sequence[]): boolean {
    return count(running, "flex") >= this.flex;
  }

  #lowerFull(running: readonly Sequence[]): boolean {
    return count(running, "flex") + count(running, "batch") >= this.#lower;
  }
}

function count(running: readonly Sequence[], tier: Tier): number {
  return running.reduce((sum, sequence) => sum + (sequence.tier === tier ? 1 : 0), 0);
}
