import { describe, expect, test } from "vitest";
import { type Arrival, generateAlone } from "../../../../../bench/scheduler/simulated-sequence.ts";
import { Simulation } from "../../../../../bench/scheduler/simulation.ts";
import type { SimulationSetup } from "../../../../../bench/scheduler/simulation-setup.ts";
import type { Tier } from "../../../../../engine/protocol/request.ts";

const SHARED = Array.from({ length: 200 }, (_, i) => (7 * i + ((i * i) % 5)) % 11);
const UNIFIED: SimulationSetup = {
  kind: "unified",
  sequences: 32,
  ids: 64,
  cells: 4000,
  copyPrice: 0,
  reuse: "parts",
  stepTokens: 64,
  reserved: 0,
  itlMs: 50,
  batchTax: 0.1,
  batchStepMs: null,
};
const SPLIT: SimulationSetup = { ...UNIFIED, kind: "split", ids: 32, cells: 250, copyPrice: 8 };

function arrival(own: number, change: Partial<Arrival> = {}): Arrival {
  return { at: 0, tier: "default", prompt: [...SHARED, 20 + own, 21 + own], goal: 8, cancelAt: null, ...change };
}

function expectAnswers(simulation: Simulation): void {
  for (const sequence of simulation.sequences)
    if (sequence.plan.cancelAt === null) expect(sequence.generated).toEqual(generateAlone(sequence.plan));
}

describe.each([
  ["unified", UNIFIED],
  ["split", SPLIT],
])("%s cache", (_, setup) => {
  test("32 simultaneous prompts compute their common prefix once", () => {
    const simulation = new Simulation(setup);
    simulation.run(Array.from({ length: 32 }, (_, i) => arrival(2 * i)));
    expectAnswers(simulation);
    // Each computes its own two tokens, and the split cache makes one copy for each.
    expect(simulation.prefilled).toBeLessThanOrEqual(SHARED.length + 32 * 2);
    expect(simulation.sequences.map((sequence) => sequence.cached)).toEqual([0, ...Array(31).fill(SHARED.length)]);
    if (setup.kind === "split") expect(simulation.memory.copied).toBeLessThanOrEqual(31 + 32);
  });

  test("200 simultaneous prompts compute all but the end of their common prefix once", () => {
    const simulation = new Simulation(setup);
    simulation.run(Array.from({ length: 200 }, (_, i) => arrival(2 * i)));
    expectAnswers(simulation);
    // A sequence that is compared when fewer than 16 tokens are missing computes them instead of waiting.
    expect(simulation.prefilled).toBeLessThanOrEqual(SHARED.length + 200 * 2 + 32 * 16);
    for (const sequence of simulation.sequences.slice(1))
      expect(sequence.cached).toBeGreaterThanOrEqual(SHARED.length - 16);
  });

  test("32 equal prompts compute all but their last token once", () => {
    const simulation = new Simulation(setup);
    simulation.run(Array.from({ length: 32 }, () => arrival(0)));
    expectAnswers(simulation);
    expect(simulation.prefilled).toBe(SHARED.length + 2);
  });

  test("when the sequence that computes a prefix ends, a waiting one continues there", () => {
    const simulation = new Simulation(setup);
    simulation.run([arrival(0, { cancelAt: 2 }), arrival(2), arrival(4), arrival(6)]);
    expectAnswers(simulation);
    expect(simulation.sequences.slice(1).map((sequence) => sequence.cached)).toEqual([
      128,
      SHARED.length,
      SHARED.length,
    ]);
    expect(simulation.prefilled).toBeLessThanOrEqual(SHARED.length + 8);
  });

  test("sequences whose prefixes' sequences end one after another all end", () => {
    const simulation = new Simulation(setup);
    simulation.run(Array.from({ length: 12 }, (_, i) => arrival(2 * i, { cancelAt: i < 11 ? i + 1 : null })));
    expectAnswers(simulation);
  });

  test("in a chain of prompts each continues where the one before it ends", () => {
    const simulation = new Simulation(setup);
    const lengths = [50, 100, 150, 200];
    simulation.run(lengths.map((length, i) => arrival(0, { prompt: [...SHARED.slice(0, length), 30 + i] })));
    expectAnswers(simulation);
    expect(simulation.sequences.map((sequence) => sequence.cached)).toEqual([0, 50, 100, 150]);
  });

  test("a scope neither waits for nor finds the prefixes of another", () => {
    const simulation = new Simulation(setup);
    const ours = Array.from({ length: 4 }, (_, i) => arrival(2 * i, { scope: "ours" }));
    const theirs = Array.from({ length: 4 }, (_, i) => arrival(2 * i, { scope: "theirs" }));
    const later = arrival(0, { scope: "others", at: 40 });
    simulation.run([...ours, ...theirs, later]);
    expectAnswers(simulation);
    const found = [0, SHARED.length, SHARED.length, SHARED.length];
    expect(simulation.sequences.map((sequence) => sequence.cached)).toEqual([...found, ...found, 0]);
    expect(simulation.prefilled).toBe(3 * SHARED.length + 9 * 2);
  });

  test.each<[Tier, Tier, number]>([
    ["priority", "default", 0],
    ["default", "default", SHARED.length],
    ["batch", "priority", SHARED.length],
  ])("%s behind a %s that computes its prefix finds %i tokens of it", (tier, owner, expected) => {
    const simulation = new Simulation(setup);
    simulation.run([arrival(0, { tier: owner }), arrival(2, { tier, at: 1 })]);
    // Online work never waits for a lower tier: it starts at once with the tokens in the cache.
    const found = simulation.sequences[1]!.cached!;
    if (expected === 0) expect(found).toBeLessThan(SHARED.length);
    else expect(found).toBe(expected);
    expectAnswers(simulation);
  });
});

test("where a copy costs more than the prefix, every sequence computes it without waiting", () => {
  const simulation = new Simulation({ ...SPLIT, copyPrice: 1000 });
  simulation.run(Array.from({ length: 4 }, (_, i) => arrival(2 * i)));
  expect(simulation.sequences.map((sequence) => sequence.cached)).toEqual([0, 0, 0, 0]);
  expectAnswers(simulation);
});
