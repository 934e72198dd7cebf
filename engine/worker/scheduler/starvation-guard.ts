import { FLEX_STEPS } from "../../protocol/step.ts";
import { isDecode, type Sequence } from "./scheduled-sequence.ts";
import { hasTier, isOnline, type LowerTier } from "./tiers.ts";

/** Most consecutive steps that have flex and skip batch. */
const BATCH_STEPS = 8;
/** Most consecutive steps that have batch prompts and skip batch decodes: lines of one token each may bring prompts without end. */
const PROMPT_STEPS = 8;

/** Counts the consecutive steps that skipped a lower tier for a better one: no running sequence starves. */
export class StarvationGuard {
  readonly #skipped: Record<LowerTier, number> = { flex: 0, batch: 0 };
  /** Of batch. */
  #promptSteps = 0;

  /** Whether batch prompts may precede batch decodes. */
  get promptsFirst(): boolean {
    return this.#promptSteps < PROMPT_STEPS;
  }

  /** The tier that was skipped for too long, if a sequence of it still runs: the last may have ended since. */
  overdue(running: readonly Sequence[]): LowerTier | null {
    if (this.#skipped.flex >= FLEX_STEPS && hasTier(running, "flex")) return "flex";
    return this.#skipped.batch >= BATCH_STEPS && hasTier(running, "batch") ? "batch" : null;
  }

  /** Takes each step once: the sequences that run, and those of them in its plan. */
  count(running: readonly Sequence[], planned: readonly Sequence[]): void {
    if (!hasTier(running, "flex") || hasTier(planned, "flex")) this.#skipped.flex = 0;
    else if (planned.some(isOnline)) this.#skipped.flex++;
    if (!hasTier(running, "batch") || hasTier(planned, "batch")) this.#skipped.batch = 0;
    else if (hasTier(planned, "flex")) this.#skipped.batch++;
    if (!running.some(isBatchDecode) || planned.some(isBatchDecode)) this.#promptSteps = 0;
    else if (hasTier(planned, "batch")) this.#promptSteps++;
  }
}

function isBatchDecode(sequence: Sequence): boolean {
  return sequence.tier === "batch" && isDecode(sequence);
}
