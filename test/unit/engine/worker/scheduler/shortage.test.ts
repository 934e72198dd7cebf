import { expect, test } from "vitest";
import { type Arrival, generateAlone } from "../../../../../bench/scheduler/simulated-sequence.ts";
import { Simulation } from "../../../../../bench/scheduler/simulation.ts";
import type { SimulationSetup } from "../../../../../bench/scheduler/simulation-setup.ts";

const SETUP: SimulationSetup = {
  kind: "unified",
  sequences: 8,
  ids: 16,
  cells: 200,
  copyPrice: 0,
  reuse: "parts",
  stepTokens: 32,
  reserved: 0,
  itlMs: 50,
  batchTax: 0.1,
  batchStepMs: null,
};

/** Prompts that share nothing. */
function distinctRequest(i: number, length: number, goal: number, change: Partial<Arrival> = {}): Arrival {
  const prompt = Array.from({ length }, (_, position) => 100 * (i + 1) + position);
  return { at: 0, tier: "default", prompt, goal, cancelAt: null, ...change };
}

function live(setup: SimulationSetup, plans: Arrival[]): Simulation {
  const simulation = new Simulation(setup);
  simulation.run(plans);
  for (const sequence of simulation.sequences) expect(sequence.generated).toEqual(generateAlone(sequence.plan));
  return simulation;
}

test("preempted sequences generate what they would alone", () => {
  const simulation = live(
    SETUP,
    [0, 1, 2, 3].map((i) => distinctRequest(i, 20, 150)),
  );
  expect(simulation.preempted).toBeGreaterThan(0);
  // By arrival: the first one is never preempted.
  expect(simulation.sequences[0]!.state).toBe("ended");
});

test("a prompt is admitted only with room for all of it: none is preempted at once", () => {
  const simulation = live(
    SETUP,
    [0, 1, 2, 3].map((i) => distinctRequest(i, 120, 4)),
  );
  expect(simulation.preempted).toBe(0);
  expect(simulation.prefilled).toBe(4 * 120);
});

test("the lower tier is preempted first", () => {
  // The tax lets the batch line run beside the others.
  const simulation = new Simulation({ ...SETUP, batchTax: 1 });
  simulation.run([
    distinctRequest(0, 20, 150, { tier: "batch" }),
    distinctRequest(1, 20, 150, { tier: "priority", at: 2 }),
    distinctRequest(2, 20, 20, { tier: "default", at: 2 }),
  ]);
  expect(simulation.preempted).toBe(1);
  // The batch line's prompt and what it had generated: the others computed theirs once.
  expect(simulation.prefilled).toBeGreaterThan(3 * 20);
  for (const sequence of simulation.sequences) expect(sequence.generated).toEqual(generateAlone(sequence.plan));
});

test("a sequence as long as the whole cache runs", () => {
  live(SETUP, [distinctRequest(0, 150, 50), distinctRequest(1, 199, 1)]);
});

test("a start that must wait for cells evicts no idle prefix", () => {
  const simulation = new Simulation(SETUP);
  const idle = distinctRequest(0, 40, 1);
  const long = distinctRequest(1, 100, 30, { at: 4 });
  const blocked = distinctRequest(2, 120, 1, { at: 5 });
  const again = { ...idle, at: 7, tier: "priority" as const, prompt: [...idle.prompt, 9, 9] };
  simulation.run([idle, long, blocked, again]);
  expect(simulation.sequences[3]!.cached).toBe(40);
});

test("a flex request short of cells is not overtaken by a shorter one", () => {
  const simulation = live({ ...SETUP, sequences: 4, ids: 8, cells: 100, reserved: 2 }, [
    distinctRequest(0, 40, 10, { tier: "flex" }),
    distinctRequest(1, 20, 10, { tier: "batch", at: 1 }),
    distinctRequest(2, 70, 1, { tier: "flex", at: 1 }),
    distinctRequest(3, 20, 1, { tier: "flex", at: 1 }),
  ]);
  const flex = simulation.ended.filter(({ tier }) => tier === "flex");
  expect(flex.map(({ arrival }) => arrival)).toEqual([0, 2, 3]);
});
