import type { Tier } from "../../../../../engine/protocol/request.ts";
import type { PlanLimits } from "../../../../../engine/worker/cost/step-caps.ts";
import { type Fit, NO_TILE, type StepShape } from "../../../../../engine/worker/cost/step-model.ts";
import type { Passes } from "../../../../../engine/worker/scheduler/decode-passes.ts";
import type { Circumstances } from "../../../../../engine/worker/scheduler/lower-tier-plan.ts";
import type { Sequence } from "../../../../../engine/worker/scheduler/scheduled-sequence.ts";
import { StepDraft } from "../../../../../engine/worker/scheduler/step-draft.ts";

export const LIMITS: PlanLimits = {
  stepTokens: 512,
  ttftMs: 500,
  itlMs: 50,
  batchTax: 0.1,
  batchStepMs: null,
  mostStepMs: 30_000,
};
/** Steps of both kinds, no overdue tier, batch prompts first, no copies, no saved tax, and a budget of long gaps. */
export const PLAIN: Circumstances = {
  kind: null,
  overdue: null,
  promptsFirst: true,
  between: false,
  mayMiss: true,
  lowerMs: 0,
  copiedMs: 0,
  savedMs: 0,
  overrun: 1,
};
export const UNBOUNDED = { prefill: Number.POSITIVE_INFINITY, decode: Number.POSITIVE_INFINITY };
/** 10 ms, 0.2 a prompt token, 1 a decode. */
export const FIT: Fit = { o: 10, p: 0.2, d: 1, k: 0, r: 0, m: 0 };

/** A running sequence with `count` tokens left to compute. */
export function left(count: number, id = 0, tier: Tier = "default"): Sequence {
  const tokens = Array<number>(count + 3).fill(1);
  return { id, tier, owner: "local", scope: "", arrival: id, tokens, computed: 3, state: "running" };
}

export function draftOf(fit: Fit, reach = UNBOUNDED, tile = NO_TILE, passes: Passes = "mixed"): StepDraft<Sequence> {
  const predict = (shape: StepShape) =>
    fit.o +
    fit.p * shape.prefill +
    fit.d * shape.decode +
    fit.k * shape.kv +
    fit.r * shape.read +
    fit.m * (shape.passes - 1);
  return new StepDraft<Sequence>({ predict, reach, tile }, ({ computed }, count) => count * (computed + 1), passes);
}
