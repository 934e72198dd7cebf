import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Tier } from "../../../../../engine/protocol/request.ts";
import type { PlanLimits } from "../../../../../engine/worker/cost/step-caps.ts";
import type { Fit } from "../../../../../engine/worker/cost/step-model.ts";
import { shortestChunk } from "../../../../../engine/worker/scheduler/chunk.ts";
import { planStep } from "../../../../../engine/worker/scheduler/plan.ts";
import { isDecode, remaining, type Sequence } from "../../../../../engine/worker/scheduler/scheduled-sequence.ts";
import { isOnline, type LowerTier } from "../../../../../engine/worker/scheduler/tiers.ts";
import { draftOf, FIT, LIMITS, left, PLAIN, UNBOUNDED } from "./plan-rig.ts";

function counts(
  running: Sequence[],
  limits: Partial<PlanLimits> = {},
  fit = FIT,
  reach = UNBOUNDED,
  overdue: LowerTier | null = null,
) {
  const entries = planStep(running, { ...LIMITS, ...limits }, draftOf(fit, reach), { ...PLAIN, overdue });
  return entries.map(({ sequence, count }) => [sequence.id, count]);
}

/** Tokens per sequence in the order of the plan, of sequences with the default tier. */
function online(remainders: number[], limits: Partial<PlanLimits> = {}, fit = FIT, reach = UNBOUNDED): number[] {
  return counts(
    remainders.map((count, id) => left(count, id)),
    limits,
    fit,
    reach,
  ).map(([, count]) => count!);
}

describe("online work", () => {
  test.each<[string, number[], Partial<PlanLimits>, number[]]>([
    ["nothing runs", [], {}, []],
    ["streams alone", [1, 1, 1], {}, [1, 1, 1]],
    ["a prompt alone fills the step", [600], {}, [512]],
    ["a short prompt alone", [40], {}, [40]],
    ["a prompt beside as many streams keeps their objective: 50 = 10 + 1 + 0.2 · 195", [1, 600], {}, [1, 195]],
    ["the bound holds for all prompts together, by arrival", [1, 1, 1, 100, 200], {}, [1, 1, 1, 100, 85]],
    ["more prompts than streams keep the objective too", [1, 300, 300], {}, [1, 195]],
    ["a crowd of prompts has a longer step", [1, 90, 90, 90, 90, 90], {}, [1, 90, 90, 90, 90, 90]],
    ["three prompts are no crowd", [1, 90, 90, 90], {}, [1, 90, 90, 15]],
    ["a crowd's step has thrice the objective", [1, 90, 90, 90, 90], { itlMs: 25 }, [1, 90, 90, 90, 50]],
    ["streams precede an earlier prompt", [300, 1], {}, [1, 195]],
    ["a later prompt gets nothing while the first fills the step", [600, 600], {}, [512]],
    ["more streams than the step holds leave room for a prompt", [1, 1, 1, 1, 9], { stepTokens: 4 }, [1, 1, 1, 1]],
    ["more streams than the step holds, no prompt", [1, 1, 1, 1, 1], { stepTokens: 4 }, [1, 1, 1, 1]],
    ["a step of one token is the prompt's", [1, 5], { stepTokens: 1 }, [1]],
    [
      "an objective with hardly any room beside the streams leaves half of a cycle: 11 / 0.2",
      [1, 600],
      { itlMs: 12 },
      [1, 55],
    ],
    ["that half may belong to two prompts", [1, 1, 7, 600], { itlMs: 12 }, [1, 1, 7, 53]],
    ["an objective far below the streams' own step leaves half of a cycle too", [1, 600], { itlMs: 1 }, [1, 55]],
    ["two prompts beside two streams leave half of a cycle too", [1, 1, 600, 600], { itlMs: 1 }, [1, 1, 60]],
  ])("%s", (_, remainders, limits, expected) => {
    expect(online(remainders, limits)).toEqual(expected);
  });

  test("the longest chunk shrinks gradually to half of a cycle as the objective shrinks", () => {
    const chunks = Array.from({ length: 120 }, (_, i) => online([1, 5000], { itlMs: 30 - i / 5 })[1]!);
    for (let i = 1; i < chunks.length; i++) {
      expect(chunks[i]).toBeLessThanOrEqual(chunks[i - 1]!);
      expect(chunks[i - 1]! - chunks[i]!).toBeLessThanOrEqual(2);
    }
    expect(chunks.at(-1)).toBe(55);
  });

  test("a chunk stays within the step model's reach", () => {
    expect(online([1, 600], {}, FIT, { prefill: 64, decode: 8 })).toEqual([1, 64]);
    expect(online([600], {}, FIT, { prefill: 64, decode: 8 })).toEqual([64]);
  });
});

describe("a machine on which a full step would be taken for a hang", () => {
  const slow: Fit = { o: 100, p: 400, d: 600, k: 0, r: 0, m: 0 };

  test.each<[string, number[], Partial<PlanLimits>, number[]]>([
    ["a prompt alone in chunks that stay below a share of the timeout: (30,000 - 100) / 400", [600], {}, [74]],
    ["fewer than the shortest chunk where that is too long: (5,000 - 100) / 400", [600], { mostStepMs: 5000 }, [12]],
    ["one token of any time", [600], { mostStepMs: 100 }, [1]],
    ["more prompts than streams", [600, 600], {}, [74]],
    ["the first of the streams", [1, 1, 1, 1], { mostStepMs: 2000 }, [1, 1, 1]],
  ])("%s", (_, remainders, limits, expected) => {
    expect(online(remainders, { itlMs: 60_000, ...limits }, slow)).toEqual(expected);
  });

  test("the same holds for lower tiers", () => {
    const batch = (mostStepMs: number) => counts([left(600, 0, "batch")], { batchStepMs: 60_000, mostStepMs }, slow);
    expect([batch(30_000), batch(5000), batch(100)]).toEqual([[[0, 74]], [[0, 12]], [[0, 1]]]);
  });
});

describe("prompts with scored tokens have 32 rows of a step", () => {
  const scored = (count: number, id: number, tier: Tier = "default"): Sequence => ({
    ...left(count, id, tier),
    scored: true,
  });

  test.each<Tier>(["default", "flex", "batch"])("a chunk of tier %s is shorter than a tile of more rows", (tier) => {
    const tile = { rows: 64, below: 10 };
    const draft = draftOf({ ...FIT, r: 0.001 }, UNBOUNDED, tile);
    const prompt = { ...scored(3000, 0, tier), computed: 1003, tokens: Array<number>(2503).fill(1) };
    expect(shortestChunk(prompt, draft, LIMITS)).toBe(16);
    const [entry] = planStep([prompt], { ...LIMITS, batchStepMs: 1000 }, draft, PLAIN);
    expect(entry?.count).toBeGreaterThanOrEqual(16);
    expect(entry?.count).toBeLessThanOrEqual(32);
  });

  test("later prompts have the rest of the step", () => {
    expect(counts([scored(3000, 0), left(40, 1), scored(3000, 2), left(600, 3)])).toEqual([
      [0, 32],
      [1, 40],
      [3, 440],
    ]);
  });

  test("rows that one prompt leaves go to the next", () => {
    expect(counts([scored(20, 0), scored(3000, 1), left(40, 2)])).toEqual([
      [0, 20],
      [1, 12],
      [2, 40],
    ]);
  });

  test("the same holds for lower tiers", () => {
    const cheap = { ...FIT, o: 1, p: 0.01 };
    expect(counts([scored(3000, 0, "batch"), scored(3000, 1, "batch"), left(40, 2, "batch")], {}, cheap)).toEqual([
      [0, 32],
      [2, 40],
    ]);
  });
});

describe("lower tiers beside online work", () => {
  const streams = (count: number) => Array.from({ length: count }, (_, id) => left(1, id));

  test.each<[string, Sequence[], Fit, number[][]]>([
    // 20 streams cost 30: the tax is 3.
    [
      "as many decodes as the tax pays",
      [20, 21, 22, 23].map((id) => left(1, id, "batch")),
      FIT,
      [
        [20, 1],
        [21, 1],
        [22, 1],
      ],
    ],
    [
      "flex first, although its id is higher",
      [left(1, 25, "flex"), ...[20, 21, 22].map((id) => left(1, id, "batch"))],
      FIT,
      [
        [25, 1],
        [20, 1],
        [21, 1],
      ],
    ],
    ["no chunk below the shortest, until the tax of several steps pays for it", [left(600, 20, "batch")], FIT, []],
    ["a chunk where prompts are cheap: 3 / 0.1", [left(600, 20, "batch")], { ...FIT, p: 0.1 }, [[20, 30]]],
    ["the rest of a prompt, however short", [left(5, 20, "batch")], FIT, [[20, 5]]],
    [
      "decodes before prompts",
      [left(1, 22, "batch"), left(600, 20, "batch")],
      { ...FIT, p: 0.1 },
      [
        [22, 1],
        [20, 20],
      ],
    ],
    [
      "a flex prompt before batch decodes, which would fill the cap for as long as they run",
      [left(600, 21, "flex"), left(1, 20, "batch")],
      { ...FIT, p: 0.1 },
      [[21, 30]],
    ],
  ])("%s", (_, lower, fit, expected) => {
    expect(counts([...streams(20), ...lower], {}, fit).slice(20)).toEqual(expected);
  });

  /** Each decode costs 10 ms: beside five streams, 60 ms, none is within the tax of 6. */
  const EXPENSIVE = { ...FIT, d: 10 };

  test("skipped where each costs more than the tax", () => {
    expect(counts([...streams(5), left(1, 20, "batch")], {}, EXPENSIVE).slice(5)).toEqual([]);
  });

  test("never past the objective between tokens, even within the tax", () => {
    const running = [...streams(38), ...[40, 41, 42, 43].map((id) => left(1, id, "batch"))];
    expect(counts(running).length).toBe(40);
  });

  test("where online work alone misses the objective, only the tax bounds them", () => {
    const running = [...streams(60), ...Array.from({ length: 20 }, (_, i) => left(1, 60 + i, "batch"))];
    expect(counts(running).length).toBe(67);
  });

  test("of overdue flex one sequence is computed, and no other lower sequence", () => {
    const lower = [left(1, 20, "flex"), left(1, 21, "flex"), left(1, 22, "batch")];
    expect(counts([...streams(5), ...lower], {}, EXPENSIVE, UNBOUNDED, "flex").slice(5)).toEqual([[20, 1]]);
    const batch = [left(1, 20, "batch")];
    expect(counts([...streams(5), ...batch], {}, EXPENSIVE, UNBOUNDED, "flex").slice(5)).toEqual([]);
  });

  test("overdue batch precedes flex, within the tax", () => {
    const lower = [20, 21, 22].map((id) => left(1, id, "flex"));
    const running = [...streams(20), ...lower, left(1, 23, "batch")];
    expect(counts(running, {}, FIT, UNBOUNDED, "batch").slice(20)).toEqual([
      [23, 1],
      [20, 1],
      [21, 1],
    ]);
    expect(counts([...streams(5), left(1, 20, "batch")], {}, EXPENSIVE, UNBOUNDED, "batch").slice(5)).toEqual([]);
  });

  test("decodes stay within the step model's reach", () => {
    const lower = Array.from({ length: 8 }, (_, i) => left(1, 20 + i, "batch"));
    const running = [...streams(20), ...lower];
    expect(counts(running, { batchTax: 10 }, FIT, { prefill: 64, decode: 22 }).length).toBe(22);
  });
});

describe("lower tiers alone", () => {
  const batch = (count: number) => Array.from({ length: count }, (_, id) => left(1, id, "batch"));

  test("a batch prompt precedes batch decodes: otherwise lines would run one after the other", () => {
    // A decode and the shortest chunk do not fit together.
    const slow = { ...FIT, o: 4, d: 8 };
    const prompt = left(16, 5, "batch");
    expect(counts([...batch(2), prompt], {}, { ...slow, p: 1.2 })).toEqual([[5, 16]]);
    expect(counts([...batch(3), left(600, 5, "flex")], {}, slow).map(([id]) => id)).toEqual([5]);
    expect(counts([left(1, 4, "flex"), ...batch(2), prompt], {}, FIT).map(([id]) => id)).toEqual([4, 5, 0, 1]);
  });

  test.each<[string, Sequence[], Partial<PlanLimits>, Fit, number]>([
    ["25 ms of decodes", batch(40), {}, FIT, 25],
    ["40 % of the objective for the first token where that is less", batch(40), { ttftMs: 50 }, FIT, 20],
    ["5 % of it where that is more", batch(40), { ttftMs: 600 }, FIT, 30],
    ["the option's value", batch(40), { batchStepMs: 40 }, FIT, 40],
    ["a chunk of a prompt: 15 / 0.2", [left(600, 0, "batch")], {}, FIT, 25],
    ["two of the cheapest steps where that is more than 25 ms", batch(40), {}, { ...FIT, o: 59 }, 99 + 20],
    ["but not past 40 % of the objective", batch(40), { ttftMs: 200 }, { ...FIT, o: 59 }, 80],
    [
      "only the cheapest step where it is longer than the option's value",
      batch(40),
      { batchStepMs: 20 },
      { ...FIT, o: 59 },
      60,
    ],
    ["only the cheapest step where it is longer than every bound", batch(40), {}, { ...FIT, o: 300 }, 301],
  ])("a step takes %s", (_, running, limits, fit, expected) => {
    const draft = draftOf(fit);
    planStep(running, { ...LIMITS, ...limits }, draft, PLAIN);
    expect(draft.ms).toBeCloseTo(Math.min(expected, fit.o + 40 * fit.d + (running.length === 1 ? 1000 : 0)), 5);
  });
});

const tier = fc.constantFrom<Tier>("priority", "default", "flex", "batch");
const running = fc
  .array(fc.tuple(tier, fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 5000 }))), { maxLength: 200 })
  .map((each) => {
    const rank = (t: Tier) => ["priority", "default", "flex", "batch"].indexOf(t);
    return each.sort((a, b) => rank(a[0]) - rank(b[0])).map(([t, count], id) => left(count, id, t));
  });
const limits = fc.record({
  stepTokens: fc.integer({ min: 1, max: 600 }),
  ttftMs: fc.integer({ min: 1, max: 2000 }),
  itlMs: fc.integer({ min: 1, max: 200 }),
  batchTax: fc.double({ min: 0, max: 2, noNaN: true }),
  batchStepMs: fc.option(fc.integer({ min: 1, max: 200 })),
});
const fit: fc.Arbitrary<Fit> = fc.record({
  o: fc.double({ min: 0, max: 100, noNaN: true }),
  p: fc.double({ min: 0, max: 5, noNaN: true }),
  d: fc.double({ min: 0, max: 20, noNaN: true }),
  k: fc.double({ min: 0, max: 0.001, noNaN: true }),
  r: fc.double({ min: 0, max: 0.001, noNaN: true }),
  m: fc.double({ min: 0, max: 20, noNaN: true }),
});

test("a plan keeps its bounds, starves no online sequence and makes progress", () => {
  fc.assert(
    fc.property(running, limits, fit, (sequences, bounds, costs) => {
      const draft = draftOf(costs);
      const entries = planStep(sequences, { ...bounds, mostStepMs: LIMITS.mostStepMs }, draft, PLAIN);
      const planned = new Map(entries.map(({ sequence, count }) => [sequence, count]));
      expect(planned.size).toBe(entries.length);
      expect(draft.tokens).toBe(entries.reduce((sum, { count }) => sum + count, 0));
      expect(draft.tokens).toBeLessThanOrEqual(bounds.stepTokens);
      expect(entries.every(({ sequence, count }) => count >= 1 && count <= remaining(sequence))).toBe(true);
      if (sequences.length > 0) expect(entries.length).toBeGreaterThan(0);

      const streams = sequences.filter((each) => isOnline(each) && isDecode(each));
      const prompts = sequences.filter((each) => isOnline(each) && !isDecode(each));
      expect(streams.slice(0, bounds.stepTokens - 1).every((stream) => planned.has(stream))).toBe(true);
      if (prompts.length > 0) expect(planned.has(prompts[0]!)).toBe(true);
      // A prompt gets tokens only when all before it get all they can take.
      const last = prompts.findLastIndex((prompt) => planned.has(prompt));
      for (const prompt of prompts.slice(0, Math.max(0, last))) expect(planned.get(prompt)).toBe(remaining(prompt));

      const { predictedMs, onlineMs, onlineTokens, lowerTokens } = draft.forecast();
      expect(onlineTokens + lowerTokens).toBe(draft.tokens);
      if (onlineTokens > 0 && lowerTokens > 0) {
        expect(predictedMs).toBeLessThanOrEqual(onlineMs * (1 + bounds.batchTax) + 1e-9);
        if (onlineMs <= bounds.itlMs) expect(predictedMs).toBeLessThanOrEqual(bounds.itlMs);
      }
    }),
    { numRuns: 500 },
  );
});
