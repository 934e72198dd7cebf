import { describe, expect, test } from "vitest";
import { copyBudget } from "../../../../../engine/worker/cost/step-caps.ts";
import { planStep } from "../../../../../engine/worker/scheduler/plan.ts";
import type { Sequence } from "../../../../../engine/worker/scheduler/scheduled-sequence.ts";
import { draftOf, FIT, LIMITS, left, PLAIN } from "../scheduler/plan-rig.ts";

describe("copies to and from host memory", () => {
  test.each<[string, number, boolean, number, { online: number; lower: number }]>([
    ["beside streams: the tax, or the rest of their objective", 20, true, 10, { online: 30, lower: 2 }],
    ["beside streams that miss it: the tax", 80, true, 10, { online: 8, lower: 8 }],
    [
      "an online request waits: the tax on a step of lower tiers",
      0,
      true,
      10,
      { online: Number.POSITIVE_INFINITY, lower: 2.5 },
    ],
    ["no online request: a step of lower tiers", 0, false, 10, { online: Number.POSITIVE_INFINITY, lower: 25 }],
    ["a slow machine: two of the cheapest steps", 0, false, 60, { online: Number.POSITIVE_INFINITY, lower: 120 }],
  ])("%s", (_, streamsMs, awaited, cheapestMs, budget) => {
    expect(copyBudget(streamsMs, cheapestMs, awaited, LIMITS)).toEqual(budget);
  });

  test("reduce the cap of lower tiers, but leave them one sequence when they are alone", () => {
    const planned = (running: Sequence[], copiedMs: number) =>
      planStep(running, { ...LIMITS, batchTax: 1 }, draftOf(FIT), { ...PLAIN, copiedMs }).length;
    const online = left(1, 0);
    const lower = Array.from({ length: 20 }, (_, i) => left(1, i + 1, "batch"));
    expect([0, 4, 100].map((copiedMs) => planned([online, ...lower], copiedMs))).toEqual([12, 8, 1]);
    expect([0, 4, 100].map((copiedMs) => planned(lower, copiedMs))).toEqual([15, 11, 1]);
  });
});
