import { expect, test } from "vitest";
import { type Arrival, generateAlone } from "../../../../../bench/scheduler/simulated-sequence.ts";
import { Simulation } from "../../../../../bench/scheduler/simulation.ts";
import type { SimulationSetup } from "../../../../../bench/scheduler/simulation-setup.ts";
import type { Tier } from "../../../../../engine/protocol/request.ts";

/** No lower tier fits beside online work; alone, a step has two decodes. */
const SETUP: SimulationSetup = {
  kind: "split",
  sequences: 8,
  ids: 8,
  cells: 1000,
  copyPrice: 8,
  reuse: "parts",
  stepTokens: 64,
  reserved: 1,
  itlMs: 50,
  batchTax: 0,
  batchStepMs: 7,
};

let prompts = 0;

function distinctRequest(tier: Tier, at: number, goal: number): Arrival {
  const first = 1000 * ++prompts;
  return { at, tier, prompt: [first, first + 1, first + 2], goal, cancelAt: null };
}

/** Runs all. Returns the steps in which each made a token. */
function tokens(simulation: Simulation, arrivals: Arrival[]): number[][] {
  const made: number[][] = arrivals.map(() => []);
  const lengths = arrivals.map(() => 0);
  simulation.run(arrivals, () => {
    for (const [i, sequence] of simulation.sequences.entries()) {
      if (sequence.generated.length > lengths[i]!) made[i]!.push(simulation.steps);
      lengths[i] = sequence.generated.length;
    }
  });
  for (const sequence of simulation.sequences) expect(sequence.generated).toEqual(generateAlone(sequence.plan));
  return made;
}

test("beside endless online streams flex gets a token in 129 steps, batch none", () => {
  const [online, flex, batch] = tokens(new Simulation(SETUP), [
    distinctRequest("default", 0, 900),
    distinctRequest("flex", 1, 12),
    distinctRequest("batch", 1, 3),
  ]);
  const end = online!.at(-1)!;
  const beside = flex!.filter((step) => step <= end);
  expect(beside.length).toBeGreaterThanOrEqual(5);
  for (let i = 1; i < beside.length; i++) expect(beside[i]! - beside[i - 1]!).toBeLessThanOrEqual(129);
  // At most one step in 128 is past the tax.
  expect(beside.length).toBeLessThanOrEqual(end / 128);
  expect(batch![0]!).toBeGreaterThan(end);
});

test("beside endless flex, batch gets a token in nine steps", () => {
  const many = [0, 1, 2, 3].map(() => distinctRequest("flex", 0, 200));
  const [batch] = tokens(new Simulation(SETUP), [distinctRequest("batch", 0, 10), ...many]);
  for (let i = 1; i < batch!.length; i++) expect(batch![i]! - batch![i - 1]!).toBeLessThanOrEqual(10);
});

test("flex preempts batch except for a quarter, and computed tokens are kept", () => {
  const simulation = new Simulation({ ...SETUP, sequences: 9, ids: 18, batchStepMs: 100, stepTokens: 64 });
  const batch = Array.from({ length: 8 }, () => distinctRequest("batch", 0, 40));
  const flex = Array.from({ length: 12 }, () => distinctRequest("flex", 10, 5));
  const least: number[] = [];
  simulation.run([...batch, ...flex], () => {
    const running = simulation.sequences.filter(({ state }) => state === "running");
    if (simulation.steps === 12) least.push(running.filter(({ tier }) => tier === "batch").length);
  });
  expect(least).toEqual([2]);
  expect(simulation.preempted).toBe(6);
  // Each prompt once; preempted sequences computed again only the one token that was due.
  expect(simulation.prefilled).toBe(20 * 3);
});

test("lines of one token each do not keep a batch decode from its steps", () => {
  const simulation = new Simulation({ ...SETUP, kind: "unified", batchStepMs: 20 });
  const lines = Array.from({ length: 200 }, (_, i) => {
    const prompt = Array.from({ length: 40 }, (_, token) => 10_000 + 100 * i + token);
    return { ...distinctRequest("batch", 0, 1), prompt };
  });
  const [made] = tokens(simulation, [distinctRequest("batch", 0, 20), ...lines]);
  const gaps = made!.slice(1).map((step, i) => step - made![i]!);
  expect(Math.max(...gaps)).toBeLessThanOrEqual(9);
});
