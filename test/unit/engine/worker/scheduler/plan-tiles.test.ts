import { describe, expect, test } from "vitest";
import type { PlanLimits } from "../../../../../engine/worker/cost/step-caps.ts";
import { planStep } from "../../../../../engine/worker/scheduler/plan.ts";
import { draftOf, FIT, LIMITS, left, PLAIN, UNBOUNDED } from "./plan-rig.ts";

describe("attention in tiles of 64 tokens, 10 times as expensive in shorter chunks", () => {
  const TILE = { rows: 64, below: 10 };
  /** A stream, and a prompt with so many tokens left behind 1,000 computed ones. */
  const chunk = (remaining: number, limits: Partial<PlanLimits>, kind: "prompts" | null = null): number => {
    const tokens = Array<number>(1000 + remaining).fill(1);
    const prompt = { ...left(1, 1), tokens, computed: 1000 };
    const draft = draftOf({ ...FIT, r: 0.001 }, UNBOUNDED, TILE);
    const entries = planStep([left(1), prompt], { ...LIMITS, ...limits }, draft, { ...PLAIN, kind });
    return entries.find(({ sequence }) => sequence.id === 1)?.count ?? 0;
  };

  test.each<[string, number, Partial<PlanLimits>, number]>([
    ["a chunk fills a tile though the objective has room for 5 tokens only", 2000, { itlMs: 63 }, 64],
    ["it takes all that fits where more than a tile fits: (200 - 11) / 1.2", 2000, { itlMs: 200 }, 157],
    ["it leaves no rest shorter than a tile", 200, { itlMs: 200 }, 136],
    ["a prompt shorter than a tile has as many tokens as fit", 40, { itlMs: 200 }, 18],
  ])("%s", (_, remaining, limits, expected) => {
    expect(chunk(remaining, limits)).toBe(expected);
  });
});
