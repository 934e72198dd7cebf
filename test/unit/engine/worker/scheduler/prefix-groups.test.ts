import { describe, expect, test } from "vitest";
import { type Arrival, generateAlone } from "../../../../../bench/scheduler/simulated-sequence.ts";
import { Simulation } from "../../../../../bench/scheduler/simulation.ts";
import type { SimulationSetup } from "../../../../../bench/scheduler/simulation-setup.ts";

const GROUPS = 3;
const LINES = 12;
const PREFIX = 60;
const OWN = 5;
const UNRELATED = 40;

/** There is room for a few idle prefixes beside the running sequences. */
const UNIFIED: SimulationSetup = {
  kind: "unified",
  sequences: 2,
  ids: 5,
  cells: 260,
  copyPrice: 0,
  reuse: "parts",
  stepTokens: 64,
  reserved: 1,
  itlMs: 50,
  batchTax: 0.1,
  batchStepMs: 25,
};
const SPLIT: SimulationSetup = { ...UNIFIED, kind: "split", ids: 4, cells: 120, copyPrice: 8 };

const line = (group: number, i: number): Arrival => ({
  at: 0,
  tier: "batch",
  prompt: [
    ...Array.from({ length: PREFIX }, (_, position) => 1000 * (group + 1) + position),
    ...Array.from({ length: OWN }, (_, position) => 10_000 + 100 * (LINES * group + i) + position),
  ],
  goal: 4,
  cancelAt: null,
});

/** Online requests without a common prefix, two at a time: while they run, no batch line does. */
const unrelated = Array.from(
  { length: 40 },
  (_, i): Arrival => ({
    at: 20 * (i >> 1),
    tier: "default",
    prompt: Array.from({ length: UNRELATED }, (_, position) => 100_000 + 100 * i + position),
    goal: 6,
    cancelAt: null,
  }),
);

describe.each([
  ["unified", UNIFIED, 0],
  ["split", SPLIT, 0],
  ["split, and host memory,", SPLIT, 1000],
])(
  "a batch of prefix groups in a %s cache, beside online requests that leave their prompts idle",
  (_, setup, hostTokens) => {
    const lines = Array.from({ length: GROUPS * LINES }, (_, i) => line(Math.floor(i / LINES), i % LINES));
    const simulation = new Simulation({ ...setup, hostTokens });
    simulation.run([...lines, ...unrelated]);
    const batch = simulation.sequences.filter(({ tier }) => tier === "batch");

    test("computes each group's prefix once", () => {
      const own = unrelated.length * UNRELATED + lines.length * (OWN + 4);
      expect(simulation.prefilled).toBeLessThanOrEqual(own + GROUPS * PREFIX);
      for (const sequence of batch) expect(sequence.generated).toEqual(generateAlone(sequence.plan));
    });

    test("runs the lines of one group together", () => {
      const ended = simulation.ended.filter(({ tier }) => tier === "batch");
      const groups = ended.map(({ plan }) => Math.floor(plan.prompt[0]! / 1000));
      expect(groups).toEqual(groups.toSorted());
    });
  },
);
