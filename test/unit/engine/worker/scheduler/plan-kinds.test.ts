import { describe, expect, test } from "vitest";
import type { PlanLimits } from "../../../../../engine/worker/cost/step-caps.ts";
import { planStep } from "../../../../../engine/worker/scheduler/plan.ts";
import type { Sequence } from "../../../../../engine/worker/scheduler/scheduled-sequence.ts";
import type { StepKind } from "../../../../../engine/worker/scheduler/step-kind.ts";
import type { LowerTier } from "../../../../../engine/worker/scheduler/tiers.ts";
import { draftOf, FIT, LIMITS, left, PLAIN } from "./plan-rig.ts";

/** Tokens per sequence in the order of the plan of a step that may have one kind of work alone. */
function ofKind(
  kind: StepKind,
  running: Sequence[],
  limits: Partial<PlanLimits> = {},
  overdue: LowerTier | null = null,
) {
  const entries = planStep(running, { ...LIMITS, ...limits }, draftOf(FIT), { ...PLAIN, kind, overdue });
  return entries.map(({ sequence, count }) => [sequence.id, count]);
}

describe("steps of one kind", () => {
  const streams = [left(1, 0), left(1, 1)];
  const prompt = left(600, 2);

  test("prompts fill what a step of streams leaves of the objective: 50 - 12 = 10 + 0.2 · 140", () => {
    expect(ofKind("decodes", [...streams, prompt])).toEqual([
      [0, 1],
      [1, 1],
    ]);
    expect(ofKind("prompts", [...streams, prompt])).toEqual([[2, 140]]);
  });

  test("a crowd of prompts has a longer step: 150 - 12 > 10 + 0.2 · 500", () => {
    const prompts = [2, 3, 4, 5, 6].map((id) => left(100, id));
    const entries = [2, 3, 4, 5, 6].map((id) => [id, 100]);
    expect(ofKind("prompts", [...streams, ...prompts])).toEqual(entries);
    expect(ofKind("prompts", [...streams, ...prompts.slice(1, 4)])).toEqual([
      [3, 100],
      [4, 40],
    ]);
  });

  test("while streams and prompts alternate, only overdue flex is computed beside them", () => {
    const lower = [left(1, 5, "flex"), left(1, 6, "batch"), left(90, 7, "flex"), left(90, 8, "batch")];
    const free = { batchTax: 5 };
    expect(ofKind("decodes", [...streams, prompt, ...lower], free)).toEqual([
      [0, 1],
      [1, 1],
    ]);
    expect(ofKind("prompts", [...streams, prompt, ...lower], free)).toEqual([[2, 140]]);
    expect(ofKind("decodes", [...streams, prompt, ...lower], free, "flex")).toEqual([
      [0, 1],
      [1, 1],
      [5, 1],
    ]);
    expect(ofKind("prompts", [...streams, prompt, ...lower], free, "flex")).toEqual([
      [2, 140],
      [7, 16],
    ]);
  });

  test("beside one kind of online work, lower tiers of that kind are added within the tax", () => {
    const lower = [left(1, 5, "batch"), left(90, 6, "batch")];
    expect(ofKind("decodes", [...streams, ...lower], { batchTax: 0.2 })).toEqual([
      [0, 1],
      [1, 1],
      [5, 1],
    ]);
    expect(ofKind("prompts", [left(100, 2), ...lower], { batchTax: 0.2 })).toEqual([
      [2, 100],
      [6, 30],
    ]);
  });

  test("an overdue flex prompt beside streams has a short step of its own", () => {
    const lower = [left(90, 5, "flex"), left(90, 6, "batch")];
    expect(ofKind("prompts", [...streams, ...lower], {}, "flex")).toEqual([[5, 16]]);
  });
});

describe("lower prompts beside streams alone", () => {
  const streams = [left(1, 1), left(1, 1)];
  const between = (running: Sequence[], savedMs: number, limits: Partial<PlanLimits> = {}) =>
    planStep(running, { ...LIMITS, ...limits }, draftOf(FIT), { ...PLAIN, kind: "prompts", savedMs }).map(
      ({ sequence, count }) => [sequence.id, count],
    );

  test("have a step of their own once the saved tax pays for one that is half overhead: 2 · 10.2", () => {
    expect(between([...streams, left(600, 5, "batch")], 20.3)).toEqual([]);
    expect(between([...streams, left(600, 5, "batch")], 20.4)).toEqual([[5, 52]]);
    expect(between([...streams, left(600, 5, "batch")], 24)).toEqual([[5, 70]]);
  });

  test("have a step sooner where all their work takes less", () => {
    expect(between([...streams, left(20, 5, "batch")], 13.9)).toEqual([]);
    expect(between([...streams, left(20, 5, "batch")], 14)).toEqual([[5, 20]]);
  });

  test("are computed flex first", () => {
    expect(between([...streams, left(30, 5, "flex"), left(600, 6, "batch")], 20.4)).toEqual([
      [5, 30],
      [6, 22],
    ]);
  });

  test("stay within the rest of the objective and the cap of a step of lower tiers", () => {
    const batch = [...streams, left(600, 5, "batch")];
    // 30 - 12 = 10 + 0.2 · 40
    expect(between(batch, 100, { itlMs: 30 })).toEqual([[5, 40]]);
    expect(between(batch, 100, { itlMs: 25 })).toEqual([]);
    expect(between(batch, 100)).toEqual([[5, 75]]);
    // The objective is missed also without a step of lower tiers between.
    expect(between(batch, 100, { itlMs: 5 })).toEqual([[5, 75]]);
  });

  test("of flex that wait for the saved tax leave batch decodes none of it", () => {
    const lowerDecodes = [left(1, 6, "batch"), left(1, 7, "flex")];
    expect(ofKind("decodes", [...streams, left(600, 5, "flex"), ...lowerDecodes], { batchTax: 1 })).toEqual([
      [1, 1],
      [1, 1],
      [7, 1],
    ]);
    const noRoom = ofKind("decodes", [...streams, left(600, 5, "flex"), ...lowerDecodes], { batchTax: 1, itlMs: 25 });
    expect(noRoom).toHaveLength(4);
  });
});
