import fc from "fast-check";
import { expect, test } from "vitest";
import { Random } from "../../../../../bench/base/random.ts";
import { chatTraffic, scaled } from "../../../../../bench/suite/load/traffic.ts";
import { type OracleRules, oracle as oracleOf } from "../../../../../bench/suite/oracle/oracle.ts";
import { meanCosts, type StepCosts } from "../../../../../bench/suite/oracle/step-costs.ts";

const RULES: OracleRules = { sequences: 64, stepTokens: 512, tax: 0.1, batchStepMs: 25, itlMs: 50, twoPasses: false };
const LINE = { prompt: 64, tokens: 32 };
const oracle = (costs: StepCosts, ...rest: Tail<Parameters<typeof oracleOf>>) =>
  oracleOf({ online: costs, batch: costs }, ...rest);
type Tail<All extends unknown[]> = All extends [unknown, ...infer Rest] ? Rest : never;
const FREE = { fixed: 0, prefill: 0, decode: 0, kv: 0, read: 0, pass: 0 };

test("without online work, lines take the time of a calculation by hand", () => {
  // 20 decodes a step of 25 ms; a prompt step reads 40 tokens: 8 steps of 25 ms for 5 lines
  const costs = { ...FREE, fixed: 5, decode: 1, prefill: 0.5 };
  const { batchTokens, onlineShare } = oracle(costs, RULES, LINE, [], 600);
  const perLine = (31 * 25) / 20 + (64 / 40) * 25;
  expect(batchTokens / ((600_000 / perLine) * 32)).toBeCloseTo(1, 1);
  expect(onlineShare).toBe(0);
});

test("beside one endless stream batch work gets what the tax allows", () => {
  const endless = [{ atMs: 0, prompt: 1, tokens: 1e9 }];
  const cheap = { ...FREE, fixed: 10, decode: 0.25, prefill: 0.01 };
  // alone a step takes 10.25 ms; a tenth of it is four decodes. No prompts are read, so only lines read before run.
  const late = [{ ...endless[0]!, atMs: 1000 }];
  const before = oracle(cheap, RULES, { prompt: 10, tokens: 1e6 }, [], 1).batchTokens;
  const both = oracle(cheap, RULES, { prompt: 10, tokens: 1e6 }, late, 11).batchTokens;
  expect((both - before) / (10_000 / 11.25)).toBeCloseTo(4, 0);
  const dear = { ...FREE, fixed: 2, decode: 1, prefill: 0.5 };
  expect(oracle(dear, RULES, LINE, endless, 10).batchTokens).toBe(0);
});

test("online work alone is completed, and a request waits for a step in progress", () => {
  const costs = { ...FREE, fixed: 5, decode: 1, prefill: 1 };
  const arrivals = [0, 1, 900].map((atMs) => ({ atMs, prompt: 10, tokens: 2 }));
  // 15 ms each; the second arrives a millisecond into the first's step and shares its last token's step.
  expect(oracle(costs, RULES, null, arrivals, 0.5).ttfts).toEqual([15, 14 + 16, 15]);
  // beside a batch, an arrival during a step waits for its end
  const beside = oracle(costs, RULES, LINE, [{ atMs: 100, prompt: 10, tokens: 2 }], 1).ttfts;
  expect(beside).toHaveLength(1);
  expect(beside[0]).toBeGreaterThanOrEqual(15);
  expect(beside[0]).toBeLessThanOrEqual(15 * (1 + RULES.tax) + RULES.batchStepMs);
});

test("more online work or a tighter bound never increases batch throughput", () => {
  const costs = fc.record({
    fixed: fc.double({ min: 0.5, max: 10, noNaN: true }),
    decode: fc.double({ min: 0.01, max: 2, noNaN: true }),
    prefill: fc.double({ min: 0.01, max: 1, noNaN: true }),
    kv: fc.double({ min: 0, max: 0.005, noNaN: true }),
    read: fc.double({ min: 0, max: 0.005, noNaN: true }),
    pass: fc.double({ min: 0, max: 5, noNaN: true }),
  });
  const traffic = scaled(chatTraffic(), 12, 2304);
  fc.assert(
    fc.property(costs, fc.nat(1000), (cost, seed) => {
      const arrivals = traffic.draw(4, 20, new Random(seed));
      const half = oracle(
        cost,
        RULES,
        LINE,
        arrivals.filter((_, i) => i % 2 === 0),
        20,
      );
      const all = oracle(cost, RULES, LINE, arrivals, 20);
      const none = oracle(cost, RULES, LINE, [], 20);
      // single decodes may fill steps better than whole lines, but not by much
      expect(all.batchTokens).toBeLessThanOrEqual(half.batchTokens * 1.1 + 200);
      expect(half.batchTokens).toBeLessThanOrEqual(none.batchTokens * 1.1 + 200);
      expect(all.onlineShare).toBeGreaterThanOrEqual(half.onlineShare * 0.9);
      expect(all.onlineShare).toBeLessThanOrEqual(1);
    }),
    { numRuns: 30 },
  );
});

test("a simulation with zero costs ends", () => {
  expect(oracle(FREE, RULES, LINE, [], 0.1).batchTokens).toBeGreaterThan(0);
});

test("a line costs more at a longer context", () => {
  // a step of 2 decodes, at 100 cells: 5 + 2 + 2 · 0.01 · 100 ms
  const near = { ...FREE, fixed: 5, decode: 1, kv: 0.01, read: 0.01 };
  const rules = { ...RULES, sequences: 2 };
  const { batchTokens } = oracle(near, rules, { prompt: 1, tokens: 200 }, [], 600);
  expect(batchTokens / ((2 * 600_000) / 9)).toBeCloseTo(1, 1);
});

test("a step with decodes and a prompt costs one more pass", () => {
  const stream = { atMs: 0, prompt: 1, tokens: 200 };
  const prompts = Array.from({ length: 50 }, (_, i) => ({ atMs: 10 + 100 * i, prompt: 512, tokens: 1 }));
  const costs = { ...FREE, fixed: 10, decode: 10, prefill: 0.01, pass: 20 };
  const onlineMs = (twoPasses: boolean) =>
    10_000 * oracle(costs, { ...RULES, itlMs: 1e9, tax: 0, twoPasses }, LINE, [stream, ...prompts], 10).onlineShare;
  expect((onlineMs(true) - onlineMs(false)) / 20).toBeCloseTo(50, -1);
});

test("the mean of costs is taken per coefficient", () => {
  const one = { fixed: 1, prefill: 2, decode: 3, kv: 4, read: 4, pass: 5 };
  expect(meanCosts([one, { fixed: 3, prefill: 4, decode: 5, kv: 6, read: 6, pass: 7 }])).toEqual({
    fixed: 2,
    prefill: 3,
    decode: 4,
    kv: 5,
    read: 5,
    pass: 6,
  });
});
