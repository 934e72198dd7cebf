import { describe, expect, test } from "vitest";
import { planLowerTiers } from "../../../../../engine/worker/scheduler/lower-tier-plan.ts";
import { LowerTierStep, leastOnlineMs } from "../../../../../engine/worker/scheduler/lower-tier-step.ts";
import { planStep } from "../../../../../engine/worker/scheduler/plan.ts";
import type { Sequence } from "../../../../../engine/worker/scheduler/scheduled-sequence.ts";
import { draftOf, FIT, LIMITS, left, PLAIN } from "./plan-rig.ts";

const stream = left(1, 0);
const prompt = left(600, 1);
const batch = left(600, 5, "batch");
const all = [stream, prompt, batch];

/** Whether lower tiers have a turn after steps of these sequences. */
function isNextAfter(steps: Sequence[][], running = all, waiting?: Sequence): boolean {
  const lowerStep = new LowerTierStep<Sequence>();
  for (const planned of steps) lowerStep.count(planned, 10);
  return lowerStep.isDue(running, waiting);
}

describe("a turn of lower tiers beside streams and online prompts", () => {
  test("follows a step of streams: in a split cache those alone, in a unified one those with the prompts", () => {
    expect(isNextAfter([[prompt], [stream]])).toBe(true);
    expect(isNextAfter([[stream, prompt]])).toBe(true);
    expect(isNextAfter([[stream], [prompt]])).toBe(false);
    expect(isNextAfter([[stream, prompt], [batch]])).toBe(false);
  });

  test("comes before no online request's first step", () => {
    expect(isNextAfter([[stream]])).toBe(false);
    expect(isNextAfter([[stream, prompt]], [...all, left(20, 2)])).toBe(false);
    expect(isNextAfter([[stream, prompt]], all, left(20, 2, "priority"))).toBe(false);
    expect(isNextAfter([[stream, prompt]], all, left(20, 6, "batch"))).toBe(true);
  });

  test("is not needed beside one of them", () => {
    expect(isNextAfter([[stream]], [stream, batch])).toBe(false);
    expect(isNextAfter([[stream, prompt]], [prompt, batch])).toBe(false);
  });

  test("takes what was saved of the tax, and leaves the streams and a short chunk of the prompt their part", () => {
    const turn = (savedMs: number, itlMs: number) => {
      const limits = { ...LIMITS, itlMs };
      const onlineMs = leastOnlineMs(all, limits, draftOf(FIT), true);
      // A step of 10 + 1 and one of 10 + 0.2 · 16.
      expect(onlineMs).toBeCloseTo(24.2);
      const draft = draftOf(FIT);
      planLowerTiers(all, limits, draft, onlineMs, { ...PLAIN, kind: "prompts", between: true, savedMs });
      return draft.entries.map(({ sequence, count }) => [sequence.id, count]);
    };
    expect(turn(20.3, 50)).toEqual([]);
    expect(turn(20.4, 50)).toEqual([[5, 52]]);
    expect(turn(100, 50)).toEqual([[5, 75]]);
    // 44.3 - 24.2 = 10 + 0.2 · 50
    expect(turn(100, 44.3)).toEqual([[5, 50]]);
    expect(turn(100, 35)).toEqual([]);
  });

  test("shortens the next chunk of the prompt, and what rides with it", () => {
    const next = (kind: "prompts" | null, lowerMs: number, batchTax = 0) =>
      planStep(all, { ...LIMITS, batchTax }, draftOf(FIT), { ...PLAIN, kind, lowerMs }).map(({ count }) => count);
    expect(next("prompts", 0)).toEqual([145]);
    expect(next("prompts", 20)).toEqual([45]);
    expect(next(null, 0)).toEqual([1, 195]);
    expect(next(null, 20, 5)).toEqual([1, 95]);
  });

  test("is followed by no other one when the online prompts have ended meanwhile", () => {
    const next = (lowerMs: number) =>
      planStep([stream, batch], LIMITS, draftOf(FIT), { ...PLAIN, kind: "prompts", lowerMs, savedMs: 100 });
    expect(next(0)).toHaveLength(1);
    expect(next(20)).toEqual([]);
  });

  test("counts as time between two tokens of a stream in the step after it alone", () => {
    const lowerStep = new LowerTierStep<Sequence>();
    const told = [[batch], [stream], [batch], [prompt], [batch]].map((planned, i) => {
      lowerStep.count(planned, i + 1);
      return lowerStep.lowerMs;
    });
    expect(told).toEqual([0, 0, 3, 0, 0]);
  });
});
