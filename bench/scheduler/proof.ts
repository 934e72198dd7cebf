import assert from "node:assert/strict";
import { type Arrival, generateAlone } from "./simulated-sequence.ts";
import { Simulation } from "./simulation.ts";
import type { SimulationSetup } from "./simulation-setup.ts";

/**
 * Runs the arrivals to their ends. Every sequence that was not cancelled generates what it would alone, and nothing leaks.
 *
 * @throws AssertionError where that, or an invariant of a step, does not hold
 */
export function prove(setup: SimulationSetup, arrivals: readonly Arrival[]): Simulation {
  const simulation = new Simulation(setup);
  simulation.run(arrivals);
  for (const { plan, generated } of simulation.sequences) {
    assert.deepEqual(generated, generateAlone(plan).slice(0, generated.length));
    if (plan.cancelAt === null) assert.equal(generated.length, plan.goal);
  }
  // Only idle prefixes are left, cache and memory count them alike, and a sequence that needs all cells evicts them.
  const { cache, memory } = simulation;
  assert.equal(cache.used, memory.used);
  const whole = setup.kind === "split" ? setup.ids : 1;
  for (let i = 0; i < whole; i++) {
    const tokens = Array.from({ length: setup.cells }, (_, position) => 1000 * (i + 1) + position);
    const sequence = { id: -1, tokens, computed: 0, scope: "" };
    assert.ok(cache.place(sequence, true));
    assert.ok(cache.extend(sequence, setup.cells));
    memory.decode([{ sequence, count: setup.cells }]);
    sequence.computed = setup.cells;
  }
  assert.equal(memory.used, cache.cells);
  return simulation;
}
