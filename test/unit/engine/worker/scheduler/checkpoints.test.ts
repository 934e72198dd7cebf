import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { prove } from "../../../../../bench/scheduler/proof.ts";
import type { Arrival } from "../../../../../bench/scheduler/simulated-sequence.ts";
import { Simulation } from "../../../../../bench/scheduler/simulation.ts";
import type { SimulationSetup } from "../../../../../bench/scheduler/simulation-setup.ts";
import { TIERS } from "../../../../../engine/protocol/request.ts";

const SHARED = Array.from({ length: 1000 }, (_, i) => (7 * i + ((i * i) % 5)) % 11);
const UNIFIED: SimulationSetup = {
  kind: "unified",
  sequences: 8,
  ids: 8,
  cells: 12_000,
  copyPrice: 0,
  reuse: "whole",
  stepTokens: 256,
  reserved: 0,
  itlMs: 50,
  batchTax: 0.1,
  batchStepMs: null,
  hostTokens: 20_000,
};
const SPLIT: SimulationSetup = { ...UNIFIED, kind: "split", cells: 1500 };

function arrival(prompt: number[], change: Partial<Arrival> = {}): Arrival {
  return { at: 0, tier: "default", prompt, goal: 8, cancelAt: null, ...change };
}

/** A prompt that parts from the others after `SHARED`. */
function question(own: number, length = 3): number[] {
  return [...SHARED, ...Array.from({ length }, (_, i) => 20 + own + i)];
}

test("sequences share the cells of their prefix in a unified cache", () => {
  const simulation = new Simulation({ ...UNIFIED, ids: 10 });
  let most = 0;
  const arrivals = Array.from({ length: 16 }, (_, i) => arrival(question(i, 100)));
  simulation.run(arrivals, () => {
    most = Math.max(most, simulation.cache.used);
  });
  // Their own tokens, and those of one that waits for its place.
  expect(most).toBeLessThan(SHARED.length + 10 * 120);
  expect(simulation.prefilled).toBeLessThanOrEqual(SHARED.length + 16 * (100 + 4));
  expect(simulation.memory.loaded).toBe(0);
});

test("a prefix that sequences shared is there for later ones", () => {
  const simulation = new Simulation({ ...UNIFIED, ids: 10 });
  const burst = () => Array.from({ length: 4 }, (_, i) => arrival(question(i, 100), { at: simulation.steps }));
  simulation.run(burst());
  simulation.run(burst().map((one, i) => ({ ...one, prompt: question(40 + i, 100) })));
  expect(simulation.sequences.map(({ cached }) => cached)).toEqual([0, ...Array(7).fill(SHARED.length)]);
});

test("idle prefixes of ended lines leave an id for the prefix that the lines of another batch share", () => {
  const simulation = new Simulation({ ...UNIFIED, ids: 10 });
  const lines = (other: number) =>
    Array.from({ length: 16 }, (_, i) => {
      const prompt = question(i, 100).map((token) => other - token);
      return arrival(prompt, { at: simulation.steps, tier: "batch" });
    });
  simulation.run(lines(200));
  simulation.run(lines(400));
  expect(simulation.memory.loaded).toBe(0);
  expect(simulation.prefilled).toBeLessThanOrEqual(2 * (SHARED.length + 16 * (100 + 4)));
});

describe.each([
  ["unified", UNIFIED],
  ["split", SPLIT],
])("a %s cache of whole states", (_, setup) => {
  test.each([3, 50, 300])("32 simultaneous prompts with %i own tokens compute their prefix once", (length) => {
    const arrivals = Array.from({ length: 32 }, (_, i) => arrival(question(i, length)));
    const simulation = prove(setup, arrivals);
    expect(simulation.prefilled).toBeLessThanOrEqual(SHARED.length + 32 * (length + 4));
  });

  test("prompts that arrive while their prefix is computed wait for it", () => {
    const arrivals = Array.from({ length: 8 }, (_, i) => arrival(question(i, 100), { at: i === 0 ? 0 : 2 }));
    const simulation = prove(setup, arrivals);
    expect(simulation.sequences.map(({ cached }) => cached)).toEqual([0, ...Array(7).fill(SHARED.length)]);
  });

  test("the third prompt with a prefix finds it, and the second finds where it parts from the first", () => {
    const arrivals = [0, 1, 2].map((i) => arrival(question(i, 100), { at: 40 * i }));
    const simulation = prove(setup, arrivals);
    expect(simulation.sequences.map(({ cached }) => cached)).toEqual([0, 0, SHARED.length]);
  });

  test("the same prompt again computes its last tokens", () => {
    const simulation = prove(setup, [arrival(SHARED), arrival(SHARED, { at: 40 })]);
    expect(simulation.sequences[1]!.cached).toBe(SHARED.length - 4);
  });

  test("the next turn finds all but the beginning of the answer, however long that is", () => {
    const opening = [31, 32, 33, 34, 35, 36, 37];
    const simulation = new Simulation({ ...setup, opening: opening.length });
    const history = SHARED.slice(0, 500);
    simulation.run([arrival([...history, ...opening])]);
    simulation.run([arrival([...history, 20, 21, 22, ...opening], { at: simulation.steps })]);
    expect(simulation.sequences[1]!.cached).toBe(history.length);
  });

  test("each of 20 turns of a chat computes its own tokens alone", () => {
    const simulation = new Simulation({ ...setup, hostTokens: 0 });
    let prompt = SHARED.slice(0, 100);
    for (let turn = 0; turn < 20; turn++) {
      simulation.run([arrival(prompt, { at: simulation.steps })]);
      const { cached, tokens } = simulation.sequences.at(-1)!;
      // The last token of an answer was drawn, and not computed.
      if (turn > 0) expect(cached).toBe(prompt.length - 11);
      prompt = [...tokens, ...Array.from({ length: 10 }, (_, i) => 30 + turn + i)];
    }
  });

  describe("with a window", () => {
    const windowed = { ...setup, window: 100, hostTokens: 0 };

    test("the same prompt again computes its last token", () => {
      const simulation = prove(windowed, [arrival(SHARED), arrival(SHARED, { at: 40 })]);
      expect(simulation.sequences[1]!.cached).toBe(SHARED.length - 1);
    });

    test("a prompt within the window of an earlier one finds what they have in common", () => {
      const found = (common: number, goal: number) => {
        const simulation = new Simulation(windowed);
        simulation.run([arrival(SHARED.slice(0, 150), { goal })]);
        simulation.run([arrival([...SHARED.slice(0, common), 20, 21, 22], { at: simulation.steps })]);
        return simulation.sequences[1]!.cached;
      };
      expect(found(140, 10)).toBe(140);
      expect(found(140, 120)).toBe(0);
      // The tokens that would be lost are more than those that are found.
      expect(found(40, 1)).toBe(0);
    });

    test("a turn whose history has the last answer otherwise computes what comes after it", () => {
      const simulation = new Simulation(windowed);
      let prompt = SHARED.slice(0, 100);
      for (let turn = 0; turn < 20; turn++) {
        simulation.run([arrival(prompt, { at: simulation.steps })]);
        if (turn > 0) expect(simulation.sequences.at(-1)!.cached).toBe(prompt.length - 10);
        prompt = [...prompt, ...Array.from({ length: 10 }, (_, i) => 30 + turn + i)];
      }
    });
  });

  test("without host memory no prompt waits for another one", () => {
    const arrivals = Array.from({ length: 4 }, (_, i) => arrival(question(i)));
    const simulation = prove({ ...setup, hostTokens: 0 }, arrivals);
    expect(simulation.sequences.map(({ cached }) => cached)).toEqual([0, 0, 0, 0]);
  });

  test("prompts start at once where a copy of their prefix takes longer than computing it", () => {
    const arrivals = Array.from({ length: 6 }, (_, i) =>
      arrival([...SHARED.slice(0, 36), 20 + i, 30 + i], { goal: 2 }),
    );
    const simulation = prove({ ...setup, stateBytes: 1e9 }, arrivals);
    expect(simulation.sequences.map(({ cached }) => cached)).toEqual(Array(6).fill(0));
    const without = prove({ ...setup, hostTokens: 0 }, arrivals);
    expect(simulation.steps).toBe(without.steps);
  });

  test("prompts that waited for a copy without time for it start together", () => {
    const arrivals = Array.from({ length: 6 }, (_, i) =>
      arrival([...SHARED.slice(0, 100), 20 + i, 30 + i], { goal: 2, tier: "batch" }),
    );
    // A copy is predicted to take 20 ms, 40 with its way back, and the tokens 105. A batch step has 15.
    const slow = { ...setup, batchStepMs: 15, stateBytes: 2e7 };
    const simulation = prove(slow, arrivals);
    const without = prove({ ...slow, hostTokens: 0 }, arrivals);
    // Ids share the cells of a unified cache, without a copy. Otherwise the chunk of the first prompt ends where the copy would
    // have been made.
    if (setup.kind === "unified") expect(simulation.steps).toBeLessThan(without.steps / 2);
    else expect(simulation.steps).toBe(without.steps + 1);
  });

  test("prompts that waited for a copy without time for it have checkpoints in place", () => {
    const prompts = Array.from({ length: 3 }, (_, i) => question(i, 200));
    // A copy is predicted to take 200 ms, 400 with its way back, and the tokens 1,005. A step of flex has 50.
    const simulation = new Simulation({ ...setup, cells: 2 * setup.cells, batchStepMs: 50, stateBytes: 2e8 });
    simulation.run(prompts.map((prompt) => arrival(prompt, { tier: "flex" })));
    const turns = prompts.map((prompt) => arrival([...prompt, 90, 91], { at: simulation.steps, tier: "flex" }));
    simulation.run(turns);
    const found = simulation.sequences.slice(prompts.length).map(({ cached }) => cached);
    expect(found).toEqual(prompts.map(({ length }) => length - 4));
  });

  test("lines of a batch make no copies for a next turn, which would replace those of chats", () => {
    const simulation = new Simulation({ ...setup, hostTokens: 1000 });
    const chat = SHARED.slice(0, 400);
    simulation.run([arrival(chat)]);
    const lines = Array.from({ length: 20 }, (_, i) => {
      const prompt = Array.from({ length: 300 }, (_, token) => 100 * (i + 1) + (token % 7));
      return arrival(prompt, { at: simulation.steps, tier: "batch" });
    });
    simulation.run(lines);
    simulation.run([arrival([...chat.slice(0, 396), 90, 91, 92], { at: simulation.steps })]);
    expect(simulation.sequences.at(-1)!.cached).toBe(396);
  });

  describe("where whole states are too large to copy", () => {
    const large = { ...setup, cells: 6000, stateBytes: 1e10, stepTokens: 300 };
    const thought = Array.from({ length: 40 }, (_, i) => 40 + i);

    test("each turn of a chat computes its own tokens, although its history leaves out the thoughts", () => {
      const simulation = new Simulation(large);
      let prompt = SHARED.slice(0, 600);
      for (let turn = 0; turn < 6; turn++) {
        simulation.run([arrival(prompt, { at: simulation.steps, goal: 40 })]);
        const { cached } = simulation.sequences.at(-1)!;
        if (turn > 0) expect(cached).toBe(prompt.length - 300 - 4);
        prompt = [...prompt, ...Array.from({ length: 300 }, (_, i) => 30 + turn + (i % 7))];
      }
      expect(simulation.memory.restored).toBe(5);
    });

    test("a history that was changed is computed from the last checkpoint before the change", () => {
      const simulation = new Simulation(large);
      const prompt = Array.from({ length: 5000 }, (_, i) => (11 * i) % 13);
      simulation.run([arrival(prompt)]);
      const changed = [...prompt.slice(0, 4000), ...thought, ...prompt.slice(4000)];
      simulation.run([arrival(changed, { at: simulation.steps })]);
      const { cached } = simulation.sequences[1]!;
      expect(cached).toBeGreaterThan(4000 - 1024 - large.stepTokens);
      expect(cached).toBeLessThanOrEqual(4000);
    });

    test("a turn without another place starts at its checkpoint, although the answer before it was longer", () => {
      const simulation = new Simulation({ ...large, sequences: 1, ids: 1 });
      const prompt = SHARED.slice(0, 600);
      simulation.run([arrival(prompt, { goal: 700 })]);
      simulation.run([arrival([...prompt, ...thought], { at: simulation.steps })]);
      expect(simulation.sequences[1]!.cached).toBe(prompt.length - 4);
    });

    test("every sequence of interleaved chats generates what it would alone", () => {
      const turn = fc.record({
        chat: fc.nat(2),
        own: fc.array(fc.nat(12), { minLength: 1, maxLength: 60 }),
        tier: fc.constantFrom(...TIERS),
        goal: fc.integer({ min: 1, max: 40 }),
        cancelAfter: fc.option(fc.nat(30), { freq: 4 }),
        after: fc.nat(40),
      });
      let restored = 0;
      fc.assert(
        fc.property(
          fc.array(turn, { minLength: 2, maxLength: 25 }),
          fc.integer({ min: 1, max: 4 }),
          fc.integer({ min: 8, max: 96 }),
          (turns, sequences, stepTokens) => {
            const histories = [0, 1, 2].map((chat) => SHARED.slice(100 * chat, 100 * chat + 90));
            let at = 0;
            const arrivals = turns.map(({ chat, own, cancelAfter, after, ...rest }) => {
              at += after;
              histories[chat] = [...histories[chat]!, ...own].slice(0, 600);
              const cancelAt = cancelAfter === null ? null : at + cancelAfter;
              return arrival(histories[chat]!, { ...rest, at, cancelAt });
            });
            const cells = setup.kind === "split" ? 650 : 1400;
            restored += prove({ ...large, sequences, ids: sequences, stepTokens, cells }, arrivals).memory.restored;
          },
        ),
        { numRuns: 40 },
      );
      expect(restored).toBeGreaterThan(0);
    });

    test("prompts with a common prefix do not wait for each other", () => {
      const arrivals = Array.from({ length: 4 }, (_, i) => arrival(question(i, 100)));
      const simulation = prove(large, arrivals);
      expect(simulation.sequences.map(({ cached }) => cached)).toEqual([0, 0, 0, 0]);
    });
  });

  test("the copy of a prefix that is cut does not replace the checkpoint that it is cut with", () => {
    // Room for one whole state and a half.
    const simulation = new Simulation({ ...setup, cells: 6000, hostTokens: 4500 });
    const prompt = Array.from({ length: 3000 }, (_, i) => (11 * i) % 13);
    simulation.run([arrival(prompt)]);
    const { host } = simulation.cache.prefixes;
    const changed = [...prompt.slice(0, 2500), 20, 21, 22, ...prompt.slice(2500)];
    simulation.run([arrival(changed, { at: simulation.steps })]);
    expect(simulation.sequences[1]!.cached).toBeGreaterThan(2500 - 1024 - setup.stepTokens);
    expect(host.copies.used).toBeLessThanOrEqual(host.copies.bytes);
  });

  test("a prompt continues alone when the one that computes its prefix is cancelled", () => {
    const arrivals = [arrival(question(0), { cancelAt: 3 }), arrival(question(1)), arrival(question(2))];
    prove(setup, arrivals);
  });

  test("every sequence generates what it would alone, with short cells, cancels and all tiers", () => {
    const texts = [SHARED.slice(0, 150), [...SHARED.slice(0, 70), ...SHARED.slice(0, 80).map((token) => 10 - token)]];
    const arrivals = fc.record({
      at: fc.nat(60),
      tier: fc.constantFrom(...TIERS),
      scope: fc.constantFrom("", "", "another"),
      owner: fc.constantFrom("a", "b"),
      prompt: fc
        .record({
          text: fc.constantFrom(...texts),
          begin: fc.nat(149),
          tail: fc.array(fc.nat(5), { minLength: 1, maxLength: 60 }),
        })
        .map(({ text, begin, tail }) => [...text.slice(0, begin), ...tail].slice(0, 160)),
      goal: fc.integer({ min: 1, max: 40 }),
      cancelAt: fc.option(fc.nat(120), { freq: 2 }),
    });
    const options = fc.record({
      sequences: fc.integer({ min: 1, max: 6 }),
      cells: fc.integer({ min: 200, max: 900 }),
      stepTokens: fc.integer({ min: 4, max: 96 }),
      hostTokens: fc.constantFrom(0, 300, 3000),
      stateBytes: fc.constantFrom(0, 1e10),
      window: fc.constantFrom(null, 8, 40),
      reserved: fc.nat(2),
      spare: fc.nat(setup.kind === "split" ? 0 : 3),
    });
    fc.assert(
      fc.property(options, fc.array(arrivals, { minLength: 1, maxLength: 40 }), (chosen, all) => {
        const reserved = Math.min(chosen.reserved, chosen.sequences - 1);
        const cells = setup.kind === "split" ? 200 : chosen.cells;
        prove({ ...setup, ...chosen, reserved, cells, ids: chosen.sequences + chosen.spare }, all);
      }),
      { numRuns: 60 },
    );
  });
});
