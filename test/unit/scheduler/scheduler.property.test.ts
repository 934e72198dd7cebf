import fc from "fast-check";
import { expect, test } from "vitest";
import { TIERS } from "../../../engine/protocol/request.ts";
import { type Arrival, generateAlone, type House, Simulation } from "./simulation.ts";

const LONGEST_PROMPT = 60;
const LONGEST_GOAL = 20;
const LONGEST = LONGEST_PROMPT + LONGEST_GOAL;

/** Two texts that many prompts begin with; the second leaves the first after 24 tokens. */
const FIRST = Array.from({ length: LONGEST_PROMPT }, (_, i) => (i * i + 3 * i) % 4);
const TEXTS = [FIRST, [...FIRST.slice(0, 24), ...FIRST.slice(24).map((token) => 3 - token)]];

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
});
const arrivals = fc.array(arrival, { maxLength: 24 });

const common = {
  sequences: fc.integer({ min: 1, max: 8 }),
  copyPrice: fc.constantFrom(0, 8, 1000),
  reuse: fc.oneof({ weight: 4, arbitrary: fc.constant(true) }, fc.constant(false)),
  stepTokens: fc.integer({ min: 1, max: 64 }),
  itlMs: fc.integer({ min: 1, max: 60 }),
  batchTax: fc.constantFrom(0, 0.1, 1),
  batchStepMs: fc.option(fc.integer({ min: 1, max: 40 })),
  parking: fc.constantFrom(0, 100, 1000),
};
const withReserve = fc.nat({ max: 2 });
const split: fc.Arbitrary<House> = fc
  .record({ ...common, spare: fc.nat({ max: 2 }), reserve: withReserve })
  .map(({ spare, reserve, ...rest }) => ({
    ...rest,
    kind: "split",
    reserved: Math.min(reserve, rest.sequences - 1),
    ids: rest.sequences + spare,
    cells: LONGEST,
  }));
const unified: fc.Arbitrary<House> = fc
  .record({ ...common, spare: fc.nat({ max: 8 }), reserve: withReserve, cells: fc.integer({ min: LONGEST, max: 400 }) })
  .map(({ spare, reserve, ...rest }) => ({
    ...rest,
    copyPrice: 0,
    kind: "unified",
    reserved: Math.min(reserve, rest.sequences - 1),
    ids: rest.sequences + spare,
  }));

/** Every sequence that was not cancelled generates what it would alone, and nothing leaks. */
function live(house: House, plans: Arrival[]): Simulation {
  const simulation = new Simulation(house);
  simulation.run(plans);
  for (const guest of simulation.guests)
    expect(guest.generated).toEqual(generateAlone(guest.plan).slice(0, guest.generated.length));
  for (const guest of simulation.guests)
    if (guest.plan.cancelAt === null) expect(guest.generated.length).toBe(guest.plan.goal);

  // Only idle prefixes are left, both books agree on them, and they give way to whoever needs all there is.
  expect(simulation.cache.used).toBe(simulation.memory.used);
  if (!house.reuse) expect(simulation.cache.used).toBe(0);
  const whole = house.kind === "split" ? house.ids : 1;
  for (let i = 0; i < whole; i++) {
    const tokens = Array.from({ length: house.cells }, (_, position) => 1000 * (i + 1) + position);
    const sequence = { id: -1, tokens, computed: 0, scope: "" };
    expect(simulation.cache.place(sequence, true)).toBe(true);
    expect(simulation.cache.extend(sequence, house.cells)).toBe(true);
    simulation.memory.decode([{ sequence, count: house.cells }]);
    sequence.computed = house.cells;
  }
  expect(simulation.memory.used).toBe(simulation.cache.cells);
  return simulation;
}

test("split cache: whatever comes and goes, each sequence generates what it would alone, in fair order, and nothing leaks", () => {
  let cameBack = 0;
  fc.assert(
    fc.property(split, arrivals, (house, plans) => {
      cameBack += live(house, plans).memory.loaded;
    }),
    { numRuns: 400 },
  );
  expect(cameBack).toBeGreaterThan(400);
}, 180_000);

test("unified cache: the same, with cells that run short", () => {
  let cameBack = 0;
  fc.assert(
    fc.property(unified, arrivals, (house, plans) => {
      cameBack += live(house, plans).memory.loaded;
    }),
    { numRuns: 400 },
  );
  expect(cameBack).toBeGreaterThan(400);
}, 180_000);
