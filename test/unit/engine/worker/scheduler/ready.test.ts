import { describe, expect, test } from "vitest";
import { type Arrival, generateAlone } from "../../../../../bench/scheduler/simulated-sequence.ts";
import { Simulation } from "../../../../../bench/scheduler/simulation.ts";
import type { SimulationSetup } from "../../../../../bench/scheduler/simulation-setup.ts";

const UNIFIED: SimulationSetup = {
  kind: "unified",
  sequences: 2,
  ids: 8,
  cells: 4000,
  copyPrice: 0,
  reuse: "parts",
  stepTokens: 64,
  reserved: 0,
  itlMs: 50,
  batchTax: 0.1,
  batchStepMs: null,
};
const SPLIT: SimulationSetup = { ...UNIFIED, kind: "split", ids: 2, cells: 250, copyPrice: 8 };
const LAG = 12;

function arrival(first: number, change: Partial<Arrival> = {}): Arrival {
  return { at: 0, tier: "default", prompt: [first, first + 1, first + 2], goal: 4, cancelAt: null, ...change };
}

/** Computed tokens of each sequence after each step. */
function computedOf(setup: SimulationSetup, arrivals: readonly Arrival[]): number[][] {
  const simulation = new Simulation(setup);
  const computed: number[][] = [];
  simulation.run(arrivals, () => computed.push(simulation.sequences.map((sequence) => sequence.computed)));
  for (const { plan, generated } of simulation.sequences)
    if (plan.cancelAt === null) expect(generated).toEqual(generateAlone(plan));
  expect(simulation.scheduler.forced).toBe(0);
  return computed;
}

/** The step, from 0, after which a sequence had first computed something. */
function firstStep(computed: readonly number[][], sequence: number): number {
  return computed.findIndex((all) => (all[sequence] ?? 0) > 0);
}

describe.each([
  ["unified", UNIFIED],
  ["split", SPLIT],
])("%s cache: a sequence that is not ready when it starts", (_, setup) => {
  test("keeps its order and its id while streams continue", () => {
    const stream = arrival(10, { goal: 3 * LAG });
    const computed = computedOf(setup, [stream, arrival(20, { lag: LAG }), arrival(30)]);
    expect(firstStep(computed, 1)).toBe(LAG);
    // The last one starts when the second has ended.
    expect(firstStep(computed, 2)).toBe(LAG + 4);
    // A token in every step, from that of its prompt on.
    expect(computed.slice(0, LAG).map(([tokens]) => tokens)).toEqual(Array.from({ length: LAG }, (_, i) => 3 + i));
  });

  test("lets later sequences start where there is room", () => {
    const computed = computedOf({ ...setup, sequences: 3, ids: 8 }, [arrival(20, { lag: LAG }), arrival(30)]);
    expect(firstStep(computed, 0)).toBe(LAG);
    expect(firstStep(computed, 1)).toBe(0);
  });

  test("is computed as soon as it is ready, without a forced plan before", () => {
    const computed = computedOf(setup, [arrival(20, { lag: LAG })]);
    expect(firstStep(computed, 0)).toBe(LAG);
  });

  test("is preempted by online work, and is ready when it starts again", () => {
    const alone = { ...setup, sequences: 1, reserved: 0 };
    const batch = arrival(20, { tier: "batch", lag: LAG });
    const computed = computedOf(alone, [batch, arrival(30, { at: 2, goal: LAG + 10 })]);
    expect(firstStep(computed, 1)).toBe(2);
    // The online answer is longer than the lag.
    expect(firstStep(computed, 0)).toBe(2 + LAG + 10);
  });

  test("computes its prompt once for all sequences with the same prompt", () => {
    const simulation = new Simulation({ ...setup, sequences: 4, ids: 8 });
    const prompt = Array.from({ length: 100 }, (_, i) => i);
    simulation.run(Array.from({ length: 4 }, () => arrival(0, { prompt, lag: LAG })));
    // All but the last token, which each computes with its own answer.
    expect(simulation.prefilled).toBe(100);
  });

  test("frees its id when it is cancelled", () => {
    const alone = { ...setup, sequences: 1, reserved: 0 };
    const computed = computedOf(alone, [arrival(20, { lag: LAG, cancelAt: 3 }), arrival(30)]);
    expect(firstStep(computed, 0)).toBe(-1);
    expect(firstStep(computed, 1)).toBe(3);
  });
});
