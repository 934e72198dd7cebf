import fc from "fast-check";
import { expect, test } from "vitest";
import { Random } from "../../../bench/random.ts";
import { type OracleRules, oracle } from "../../../bench/suite/oracle.ts";
import { fitStepCosts } from "../../../bench/suite/step-costs.ts";
import { chatTraffic, scaled } from "../../../bench/suite/traffic.ts";

const RULES: OracleRules = { sequences: 64, stepTokens: 512, tax: 0.1, batchStepMs: 25, itlMs: 50, twoPasses: false };
const LINE = { prompt: 64, tokens: 32 };

test("without online work, lines cost what their steps cost by hand", () => {
  // 20 decodes a step of 25 ms; a prompt step reads 40 tokens: 8 steps of 25 ms for 5 lines
  const costs = { fixed: 5, decode: 1, prefill: 0.5 };
  const { batchTokens, onlineShare } = oracle(costs, RULES, LINE, [], 600);
  const perLine = (31 * 25) / 20 + (64 / 40) * 25;
  expect(batchTokens / ((600_000 / perLine) * 32)).toBeCloseTo(1, 1);
  expect(onlineShare).toBe(0);
});

test("one endless stream leaves what the tax allows, and riders that do not fit do not ride", () => {
  const endless = [{ atMs: 0, prompt: 1, tokens: 1e9 }];
  const cheap = { fixed: 10, decode: 0.25, prefill: 0.01 };
  // alone a step takes 10.25 ms; a tenth of it are four decodes. Nothing reads prompts, so only lines read before run.
  const late = [{ ...endless[0]!, atMs: 1000 }];
  const before = oracle(cheap, RULES, { prompt: 10, tokens: 1e6 }, [], 1).batchTokens;
  const both = oracle(cheap, RULES, { prompt: 10, tokens: 1e6 }, late, 11).batchTokens;
  expect((both - before) / (10_000 / 11.25)).toBeCloseTo(4, 0);
  const dear = { fixed: 2, decode: 1, prefill: 0.5 };
  expect(oracle(dear, RULES, LINE, endless, 10).batchTokens).toBe(0);
});

test("more online work never leaves more to the batch, nor does a narrower bound", () => {
  const costs = fc.record({
    fixed: fc.double({ min: 0.5, max: 10, noNaN: true }),
    decode: fc.double({ min: 0.01, max: 2, noNaN: true }),
    prefill: fc.double({ min: 0.01, max: 1, noNaN: true }),
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
      // riders may fill steps better than whole lines do, but not by much
      expect(all.batchTokens).toBeLessThanOrEqual(half.batchTokens * 1.1 + 200);
      expect(half.batchTokens).toBeLessThanOrEqual(none.batchTokens * 1.1 + 200);
      expect(all.onlineShare).toBeGreaterThanOrEqual(half.onlineShare * 0.9);
      expect(all.onlineShare).toBeLessThanOrEqual(1);
    }),
    { numRuns: 30 },
  );
});

test("costs that are nothing end all the same", () => {
  expect(oracle({ fixed: 0, decode: 0, prefill: 0 }, RULES, LINE, [], 0.1).batchTokens).toBeGreaterThan(0);
});

test("the fit finds the costs that steps were made from, and is not led by the longest", () => {
  const made = { fixed: 2.5, decode: 1.25, prefill: 0.625 };
  const decodes = [1, 4, 8, 16, 32].map((streams) => ({ streams, ms: made.fixed + made.decode * streams }));
  const prompts = [64, 128, 256, 512].map((tokens) => ({ tokens, ms: 3 + made.prefill * tokens }));
  const found = fitStepCosts(decodes, prompts);
  expect(found.fixed).toBeCloseTo(made.fixed, 6);
  expect(found.decode).toBeCloseTo(made.decode, 6);
  expect(found.prefill).toBeCloseTo(made.prefill, 6);
  const slow = decodes.map(({ streams, ms }) => ({ streams, ms: streams === 32 ? ms * 1.2 : ms }));
  expect(fitStepCosts(slow, prompts).fixed / made.fixed).toBeCloseTo(1, 0);
});
