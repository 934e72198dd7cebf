import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { planStep } from "../../../engine/worker/scheduler/plan.ts";
import { remaining, type Sequence } from "../../../engine/worker/scheduler/sequence.ts";

/** A running sequence with so many tokens left. */
function left(count: number, arrival = 0): Sequence {
  return { id: arrival, tier: "default", arrival, tokens: Array(count + 3).fill(1), computed: 3, state: "running" };
}

describe("what a step computes", () => {
  test.each<[string, number[], [stepTokens: number, mixedPrefill: number], number[]]>([
    ["nothing runs", [], [512, 256], []],
    ["streams alone", [1, 1, 1], [512, 256], [1, 1, 1]],
    ["a prompt alone fills the step", [600], [512, 256], [512]],
    ["a short prompt alone", [40], [512, 256], [40]],
    ["a prompt beside as many streams keeps to the bound", [1, 600], [512, 256], [1, 256]],
    [
      "the bound is for all prompts together, the first comes first",
      [1, 1, 1, 200, 200],
      [512, 256],
      [1, 1, 1, 200, 56],
    ],
    ["more prompts than streams fill the step", [1, 300, 300], [512, 256], [1, 300, 211]],
    ["streams come before an earlier prompt", [300, 1], [512, 256], [1, 256]],
    ["a prompt that is too far behind gets nothing yet", [600, 600], [512, 256], [512]],
    ["more streams than the step holds leave room for a prompt", [1, 1, 1, 1, 9], [4, 4], [1, 1, 1, 1]],
    ["more streams than the step holds, no prompt", [1, 1, 1, 1, 1], [4, 4], [1, 1, 1, 1]],
    ["a step of one token is the prompt's", [1, 5], [1, 1], [1]],
  ])("%s", (_, remainders, [stepTokens, mixedPrefill], expected) => {
    const running = remainders.map(left);
    expect(planStep(running, { stepTokens, mixedPrefill }).map((entry) => entry.count)).toEqual(expected);
  });
});

const running = fc
  .array(fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 5000 })), { maxLength: 300 })
  .map((remainders) => remainders.map(left));
const limits = fc.record({
  stepTokens: fc.integer({ min: 1, max: 600 }),
  mixedPrefill: fc.integer({ min: 1, max: 600 }),
});

test("a plan keeps its bounds, starves no one and always makes progress", () => {
  fc.assert(
    fc.property(running, limits, (sequences, { stepTokens, mixedPrefill }) => {
      const entries = planStep(sequences, { stepTokens, mixedPrefill });
      const planned = new Map(entries.map(({ sequence, count }) => [sequence, count]));
      expect(planned.size).toBe(entries.length);
      expect(entries.reduce((sum, { count }) => sum + count, 0)).toBeLessThanOrEqual(stepTokens);
      expect(entries.every(({ sequence, count }) => count >= 1 && count <= remaining(sequence))).toBe(true);
      if (sequences.length > 0) expect(entries.length).toBeGreaterThan(0);

      const streams = sequences.filter((sequence) => remaining(sequence) === 1);
      const prompts = sequences.filter((sequence) => remaining(sequence) > 1);
      expect(streams.slice(0, stepTokens - 1).every((stream) => planned.has(stream))).toBe(true);
      if (prompts.length > 0) expect(planned.has(prompts[0]!)).toBe(true);
      // A prompt gets tokens only when all before it get all they can take.
      const last = prompts.findLastIndex((prompt) => planned.has(prompt));
      for (const prompt of prompts.slice(0, Math.max(0, last))) expect(planned.get(prompt)).toBe(remaining(prompt));
      const prefill = prompts.reduce((sum, prompt) => sum + (planned.get(prompt) ?? 0), 0);
      if (streams.length >= prompts.length) expect(prefill).toBeLessThanOrEqual(mixedPrefill);
    }),
    { numRuns: 500 },
  );
});
