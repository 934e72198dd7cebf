import { describe, expect, test } from "vitest";
import { DEFAULT_TIER_FACTORS, Prices } from "../../../../ledger/prices.ts";
import { LearnedCosts } from "../../../../server/routing/learned-costs.ts";
import { ledgerRow } from "../../store/rows.ts";
import { testStore } from "../../store/test-store.ts";

const PRICE = { input: 1, cachedInput: 0.5, output: 2 };
const prices = () => new Prices({ big: PRICE }, DEFAULT_TIER_FACTORS);
const SHORT: Parameters<LearnedCosts["charged"]>[0] = {
  model: "big",
  batchId: null,
  inputTokens: 100,
  cachedTokens: 0,
  outputTokens: 50,
};
/** 100 tokens at 1,000 nano-dollars and 50 at 2,000. */
const SHORT_NANO = 200_000;
const ASKED = { promptTokens: 80, maxTokens: null };

function learned(...rows: (typeof SHORT)[]) {
  const costs = new LearnedCosts(prices());
  for (const row of rows) costs.charged(row);
  return costs;
}

describe("the expected cost of a request", () => {
  test("is unknown before the first row of its model and class", () => {
    const costs = learned(SHORT);
    expect(costs.expectedNano("small", "default", ASKED)).toBeNull();
    expect(costs.expectedNano("big", "default", { ...ASKED, promptTokens: 5000 })).toBeNull();
  });

  test("is the mean of the first rows, each of the same weight", () => {
    const costs = learned(SHORT, { ...SHORT, outputTokens: 150 });
    expect(costs.expectedNano("big", "default", ASKED)).toBe(300_000);
  });

  test("follows later rows, and forgets the first ones", () => {
    const rows = Array.from({ length: 200 }, () => SHORT);
    const costs = learned({ ...SHORT, outputTokens: 100_000 }, ...rows);
    const cost = costs.expectedNano("big", "default", ASKED)!;
    expect(cost).toBeGreaterThanOrEqual(SHORT_NANO);
    expect(cost).toBeLessThan(1.05 * SHORT_NANO);
  });

  test("counts the cached part of prompts at its own price", () => {
    expect(learned({ ...SHORT, cachedTokens: 80 }).expectedNano("big", "default", ASKED)).toBe(160_000);
  });

  test("has the factor of its tier, and no longer answer than its bound", () => {
    const costs = learned(SHORT);
    expect(costs.expectedNano("big", "flex", ASKED)).toBe(SHORT_NANO / 2);
    expect(costs.expectedNano("big", "default", { ...ASKED, maxTokens: 10 })).toBe(120_000);
  });

  test("is that of the present prices", () => {
    const changing = prices();
    const costs = new LearnedCosts(changing);
    costs.charged(SHORT);
    changing.replace({ big: { ...PRICE, output: 4 } }, DEFAULT_TIER_FACTORS);
    expect(costs.expectedNano("big", "default", ASKED)).toBe(300_000);
  });

  test("is not learned from batch lines, and not from requests without an answer", () => {
    const costs = learned({ ...SHORT, batchId: "batch_1" }, { ...SHORT, outputTokens: 0 });
    expect(costs.expectedNano("big", "default", ASKED)).toBeNull();
  });
});

test("costs are learned again from the ledger after a start", async () => {
  const store = await testStore();
  const row = ledgerRow({
    model: "big",
    batchId: null,
    line: null,
    inputTokens: 100,
    cachedTokens: 0,
    outputTokens: 50,
  });
  await store.ledger.insert({ rows: [row, { ...row, outputTokens: 150 }] });
  const costs = await LearnedCosts.open(store, prices());
  expect(costs.expectedNano("big", "default", ASKED)).toBe(300_000);
  expect(costs.meanNano("big")).toBe(300_000);
});
