import fc from "fast-check";
import { expect, test } from "vitest";
import { prove } from "../../../../../bench/scheduler/proof.ts";
import { LONGEST_GOAL, LONGEST_PROMPT, TEXTS } from "../../../../../bench/scheduler/random-workload.ts";
import type { Arrival } from "../../../../../bench/scheduler/simulated-sequence.ts";
import type { SimulationSetup } from "../../../../../bench/scheduler/simulation-setup.ts";
import { TIERS } from "../../../../../engine/protocol/request.ts";

const LONGEST = LONGEST_PROMPT + LONGEST_GOAL;

const prompt = fc
  .record({
    text: fc.constantFrom(...TEXTS),
    begin: fc.integer({ min: 0, max: LONGEST_PROMPT - 1 }),
    tail: fc.array(fc.nat({ max: 3 }), { minLength: 1, maxLength: 20 }),
  })
  .map(({ text, begin, tail }) => [...text.slice(0, begin), ...tail].slice(0, LONGEST_PROMPT));

const arrival: fc.Arbitrary<Arrival> = fc.record({
  at: fc.oneof(fc.constant(0), fc.nat({ max: 60 })),
  tier: fc.oneof(fc.constant("default" as const), fc.constantFrom(...TIERS)),
  scope: fc.constantFrom("", "", "another"),
  owner: fc.constantFrom("a", "a", "b"),
  prompt,
  goal: fc.integer({ min: 1, max: LONGEST_GOAL }),
  cancelAt: fc.option(fc.nat({ max: 80 }), { freq: 3 }),
  lag: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, fc.nat({ max: 40 })),
});
const arrivals = fc.array(arrival, { maxLength: 24 });

const common = {
  sequences: fc.integer({ min: 1, max: 8 }),
  copyPrice: fc.constantFrom(0, 8, 1000),
  reuse: fc.oneof({ weight: 2, arbitrary: fc.constant("parts" as const) }, fc.constant("whole" as const)),
  stepTokens: fc.integer({ min: 1, max: 64 }),
  itlMs: fc.integer({ min: 1, max: 60 }),
  batchTax: fc.constantFrom(0, 0.1, 1),
  batchStepMs: fc.option(fc.integer({ min: 1, max: 40 })),
  hostTokens: fc.constantFrom(0, 100, 1000),
};
const withReserve = fc.nat({ max: 2 });
const split: fc.Arbitrary<SimulationSetup> = fc
  .record({ ...common, spare: fc.nat({ max: 2 }), reserve: withReserve })
  .map(({ spare, reserve, ...rest }) => ({
    ...rest,
    kind: "split",
    reserved: Math.min(reserve, rest.sequences - 1),
    ids: rest.sequences + spare,
    cells: LONGEST,
  }));
const unified: fc.Arbitrary<SimulationSetup> = fc
  .record({
    ...common,
    passes: fc.constantFrom("mixed" as const, "equal" as const, "consecutive" as const),
    spare: fc.nat({ max: 8 }),
    reserve: withReserve,
    cells: fc.integer({ min: LONGEST, max: 400 }),
  })
  .map(({ spare, reserve, ...rest }) => ({
    ...rest,
    copyPrice: 0,
    kind: "unified",
    reserved: Math.min(reserve, rest.sequences - 1),
    ids: rest.sequences + spare,
  }));

test("split cache: each sequence generates what it would alone, and nothing leaks", () => {
  let cameBack = 0;
  fc.assert(
    fc.property(split, arrivals, (setup, plans) => {
      cameBack += prove(setup, plans).memory.loaded;
    }),
    { numRuns: 400 },
  );
  expect(cameBack).toBeGreaterThan(400);
});

test("unified cache: each sequence generates what it would alone, and nothing leaks", () => {
  let cameBack = 0;
  fc.assert(
    fc.property(unified, arrivals, (setup, plans) => {
      cameBack += prove(setup, plans).memory.loaded;
    }),
    { numRuns: 400 },
  );
  expect(cameBack).toBeGreaterThan(400);
});
