import { FLEX_STEPS } from "../../protocol/step.ts";
import type { LowerTier } from "./scheduled-sequence.ts";
import { isOnline, type Sequence } from "./scheduled-sequence.ts";

/** Steps in a row that may have flex and leave batch out. */
const BATCH_STEPS = 8;

/** Counts for how long a lower tier of which some run has been left out for better work: nobody is parked for ever. */
export class StarvationGuard {
  readonly #leftOut: Record<LowerTier, number> = { flex: 0, batch: 0 };

  /** The tier whose patience is over, if one of it still runs: the last may have left since the steps were counted. */
  overdue(running: readonly Sequence[]): LowerTier | null {
    const runs = (tier: LowerTier) => running.some((sequence) => sequence.tier === tier);
    if (this.#leftOut.flex >= FLEX_STEPS && runs("flex")) return "flex";
    return this.#leftOut.batch >= BATCH_STEPS && runs("batch") ? "batch" : null;
  }

  /** Once for each step, with those that run and those of them that are in its plan. */
  count(running: readonly Sequence[], planned: readonly Sequence[]): void {
    const has = (tier: LowerTier) => planned.some((sequence) => sequence.tier === tier);
    const runs = (tier: LowerTier) => running.some((sequence) => sequence.tier === tier);
    if (!runs("flex") || has("flex")) this.#leftOut.flex = 0;
    else if (planned.some(isOnline)) this.#leftOut.flex++;
    if (!runs("batch") || has("batch")) this.#leftOut.batch = 0;
    else if (has("flex")) this.#leftOut.batch++;
  }
}
