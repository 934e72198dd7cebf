import { describe, expect, test } from "vitest";
import { NO_TILE } from "../../../../../engine/worker/cost/step-model.ts";
import { planLowerTiers } from "../../../../../engine/worker/scheduler/lower-tier-plan.ts";
import { LowerTierStep, leastOnlineMs } from "../../../../../engine/worker/scheduler/lower-tier-step.ts";
import { planStep } from "../../../../../engine/worker/scheduler/plan.ts";
import type { Sequence } from "../../../../../engine/worker/scheduler/scheduled-sequence.ts";
import { draftOf, FIT, LIMITS, left, PLAIN, UNBOUNDED } from "./plan-rig.ts";

const stream = left(1, 0);
const prompt = left(600, 1);
const batch = left(600, 5, "batch");
const all = [stream, prompt, batch];

/** Whether a step of lower tiers is due after steps of these sequences. */
function isNextAfter(steps: Sequence[][], running = all, waiting?: Sequence): boolean {
  const lowerStep = new LowerTierStep<Sequence>();
  for (const planned of steps) lowerStep.count(planned, 10);
  return lowerStep.isDue(running, waiting);
}

describe("a step of lower tiers beside streams and online prompts", () => {
  test("follows a step with streams", () => {
    expect(isNextAfter([[prompt], [stream]])).toBe(true);
    expect(isNextAfter([[stream, prompt]])).toBe(true);
    expect(isNextAfter([[stream], [prompt]])).toBe(false);
    expect(isNextAfter([[stream, prompt], [batch]])).toBe(false);
  });

  test("does not precede an online request's first step", () => {
    expect(isNextAfter([[stream]])).toBe(false);
    expect(isNextAfter([[stream, prompt]], [...all, left(20, 2)])).toBe(false);
    expect(isNextAfter([[stream, prompt]], all, left(20, 2, "priority"))).toBe(false);
    expect(isNextAfter([[stream, prompt]], all, left(20, 6, "batch"))).toBe(true);
  });

  test("is not due beside one of them alone", () => {
    expect(isNextAfter([[stream]], [stream, batch])).toBe(false);
    expect(isNextAfter([[stream, prompt]], [prompt, batch])).toBe(false);
  });

  test("takes the saved tax within what streams and a short chunk leave of the objective", () => {
    const plan = (savedMs: number, itlMs: number) => {
      const limits = { ...LIMITS, itlMs };
      const onlineMs = leastOnlineMs(all, limits, draftOf(FIT, UNBOUNDED, NO_TILE, "consecutive"));
      // A step of 10 + 1 and one of 10 + 0.2 · 16.
      expect(onlineMs).toBeCloseTo(24.2);
      const draft = draftOf(FIT);
      planLowerTiers(all, limits, draft, onlineMs, { ...PLAIN, kind: "prompts", between: true, savedMs });
      return draft.entries.map(({ sequence, count }) => [sequence.id, count]);
    };
    expect(plan(20.3, 50)).toEqual([]);
    expect(plan(20.4, 50)).toEqual([[5, 52]]);
    expect(plan(100, 50)).toEqual([[5, 75]]);
    // 44.3 - 24.2 = 10 + 0.2 · 50
    expect(plan(100, 44.3)).toEqual([[5, 50]]);
    expect(plan(100, 35)).toEqual([]);
  });

  test("shortens the next chunk of the online prompt", () => {
    const next = (kind: "prompts" | null, lowerMs: number, batchTax = 0) =>
      planStep(all, { ...LIMITS, batchTax }, draftOf(FIT), { ...PLAIN, kind, lowerMs }).map(({ count }) => count);
    expect(next("prompts", 0)).toEqual([145]);
    expect(next("prompts", 20)).toEqual([45]);
    expect(next(null, 0)).toEqual([1, 195]);
    expect(next(null, 20, 5)).toEqual([1, 95]);
  });

  test("is not followed by another one when the online prompts have ended", () => {
    const next = (lowerMs: number) =>
      planStep([stream, batch], LIMITS, draftOf(FIT), { ...PLAIN, kind: "prompts", lowerMs, savedMs: 100 });
    expect(next(0)).toHaveLength(1);
    expect(next(20)).toEqual([]);
  });

  test("counts as part of a stream's gap only in the step after it", () => {
    const lowerStep = new LowerTierStep<Sequence>();
    const values = [[batch], [stream], [batch], [prompt], [batch]].map((planned, i) => {
      lowerStep.count(planned, i + 1);
      return lowerStep.lowerMs;
    });
    expect(values).toEqual([0, 0, 3, 0, 0]);
  });
});
