import assert from "node:assert/strict";
import { type Arrival, generateAlone, type House, Simulation } from "./simulation.ts";

/**
 * Runs the arrivals to their ends. Every sequence that was not cancelled generates what it would alone, and nothing leaks.
 *
 * @throws AssertionError where that, or an invariant of a step, does not hold
 */
export function prove(house: House, arrivals: readonly Arrival[]): Simulation {
  const simulation = new Simulation(house);
  simulation.run(arrivals);
  for (const { plan, generated } of simulation.guests) {
    assert.deepEqual(generated, generateAlone(plan).slice(0, generated.length));
    if (plan.cancelAt === null) assert.equal(generated.length, plan.goal);
  }
  // Only idle prefixes are left, both books agree on them, and they give way to whoever needs all there is.
  const { cache, memory } = simulation;
  assert.equal(cache.used, memory.used);
  if (!house.reuse) assert.equal(cache.used, 0);
  const whole = house.kind === "split" ? house.ids : 1;
  for (let i = 0; i < whole; i++) {
    const tokens = Array.from({ length: house.cells }, (_, position) => 1000 * (i + 1) + position);
    const sequence = { id: -1, tokens, computed: 0, scope: "" };
    assert.ok(cache.place(sequence, true));
    assert.ok(cache.extend(sequence, house.cells));
    memory.decode([{ sequence, count: house.cells }]);
    sequence.computed = house.cells;
  }
  assert.equal(memory.used, cache.cells);
  return simulation;
}
