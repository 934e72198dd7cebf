import { expect, test } from "vitest";
import { cycleMs } from "../../../../../engine/worker/scheduler/crowd.ts";
import { draftOf, FIT, LIMITS, left } from "./plan-rig.ts";

/** The cycle of streams whose step takes 10 ms and one for each, beside prompts of these lengths. */
function cycle(prompts: number[], streams: number, itlMs = 50, lowerMs = 0, mayMiss = true): number {
  const sequences = prompts.map((count, id) => left(count, id));
  return cycleMs(sequences, { count: streams, ms: 10 + streams, lowerMs, mayMiss }, { ...LIMITS, itlMs }, draftOf(FIT));
}

function times(count: number, tokens: number): number[] {
  return new Array<number>(count).fill(tokens);
}

test.each<[string, number, number]>([
  ["one long prompt keeps the objective", cycle([5000], 1), 50],
  [
    "prompts that outnumber the streams have the longer cycle once a step of streams costs them 50 ms in sum",
    cycle(times(5, 600), 1),
    150,
  ],
  ["at 44 ms they have not", cycle(times(4, 600), 1), 50],
  ["so have prompts that one step of prompts ends: 10 + 0.2 · 270 < 150 - 20", cycle(times(3, 90), 10), 150],
  ["at 40 ms they have not", cycle(times(2, 90), 10), 50],
  ["long prompts that do not outnumber the streams keep the objective", cycle(times(9, 600), 10), 50],
  ["a step has 512 tokens", cycle(times(3, 200), 10), 50],
  [
    "the step and the streams' own fit into the longer cycle: 3 · 40 - 20 > 10 + 0.2 · 400",
    cycle(times(3, 130), 10, 20),
    120,
  ],
  ["a longer one does not", cycle(times(3, 160), 10, 20), 40],
  ["nor without a budget", cycle(times(5, 600), 1, 50, 0, false), 50],
  ["but where every prompt makes the streams miss their objective", cycle(times(5, 600), 1, 21, 0, false), 66],
  ["nor beside a step of lower tiers", cycle(times(3, 130), 10, 20, 20), 40],
])("%s", (_, actual, expected) => {
  expect(actual).toBe(expected);
});
