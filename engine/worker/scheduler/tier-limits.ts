import { countByTier, isOnline, type Tiered } from "./tiers.ts";

/** The share of the lower tiers' sequences that flex leaves to batch. */
const BATCH_SHARE = 1 / 4;

export interface TierLimitOptions {
  /** Most sequences that run at once. */
  sequences: number;
  /** Of these, sequences that flex and batch leave free for online work; fewer than `sequences`. */
  reserved: number;
}

type HasTier = Pick<Tiered, "tier">;

/** The number of sequences of each tier that may run at once. */
export class TierLimits {
  /** Most sequences of flex. */
  readonly flex: number;
  /** Sequences that flex leaves to batch. Batch may have all that the lower tiers may have. */
  readonly batch: number;
  readonly #all: number;
  readonly #lower: number;

  constructor({ sequences, reserved }: TierLimitOptions) {
    this.#all = sequences;
    this.#lower = sequences - reserved;
    this.batch = Math.floor(this.#lower * BATCH_SHARE);
    this.flex = this.#lower - this.batch;
  }

  /** Whether no more sequence of this one's tier may run, however much room the cache has. */
  isReached(sequence: HasTier, running: readonly HasTier[]): boolean {
    if (running.length >= this.#all) return true;
    if (isOnline(sequence)) return false;
    const { flex, batch } = countByTier(running);
    return flex + batch >= this.#lower || (sequence.tier === "flex" && flex >= this.flex);
  }

  /** Whether of the lower tiers batch alone may start: flex has reached its limit, and batch has not. */
  isLeftToBatch(running: readonly HasTier[]): boolean {
    const { flex, batch } = countByTier(running);
    return running.length < this.#all && flex >= this.flex && flex + batch < this.#lower;
  }
}
