import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { DEFAULT_PRICES, DEFAULT_TIER_FACTORS, Prices, usdText } from "../../../ledger/prices.ts";
import type { LedgerTier } from "../../../store/tables/ledger.ts";

const prices = new Prices(
  { ...DEFAULT_PRICES, fine: { input: 0.0375, cachedInput: 0.000001, output: 0.3 } },
  DEFAULT_TIER_FACTORS,
);
const cost = (model: string, tier: LedgerTier, inputTokens: number, cachedTokens: number, outputTokens: number) =>
  prices.costNano(model, tier, { inputTokens, cachedTokens, outputTokens });

describe("costs", () => {
  test.each([
    ["demo", "default", 1_000_000, 0, 0, 100_000_000],
    ["demo", "default", 0, 0, 1_000_000, 400_000_000],
    ["demo", "default", 1000, 400, 10, 600 * 100 + 400 * 20 + 10 * 400],
    // Cached tokens get the cached price and the tier's factor.
    ["demo", "batch", 1000, 400, 10, (600 * 100 + 400 * 20 + 10 * 400) / 2],
    ["demo", "flex", 2, 0, 0, 100],
    ["demo", "priority", 4, 0, 0, 700],
    ["unpriced", "priority", 5_000_000, 0, 5_000_000, 0],
    // 37.5 nano-dollars per token: half a nano-dollar is rounded up, once.
    ["fine", "default", 1, 0, 0, 38],
    ["fine", "default", 2, 0, 0, 75],
    ["fine", "default", 1000, 1000, 0, 1],
    ["fine", "default", 499, 499, 0, 0],
  ] as const)("%s at %s: %i in, %i cached, %i out is %i nano-dollars", (model, tier, input, cached, output, nano) => {
    expect(cost(model, tier, input, cached, output)).toBe(nano);
  });

  test("are whole and within half a nano-dollar of the exact sum", () => {
    const tokens = fc.integer({ min: 0, max: 10_000_000 });
    fc.assert(
      fc.property(tokens, tokens, tokens, (uncached, cached, output) => {
        const nano = cost("fine", "priority", uncached + cached, cached, output);
        expect(Number.isSafeInteger(nano)).toBe(true);
        // In femto-dollars: price × 1e6 × factor × 1000.
        const exact = (37_500n * BigInt(uncached) + BigInt(cached) + 300_000n * BigInt(output)) * 1750n;
        const error = BigInt(nano) * 1_000_000n - exact;
        expect(error > -500_000n && error <= 500_000n).toBe(true);
      }),
    );
  });
});

test.each([
  [0, "0.000000000"],
  [1, "0.000000001"],
  [1_234_567_890, "1.234567890"],
  [-1, "-0.000000001"],
])("%i nano-dollars are USD %s", (nano, text) => {
  expect(usdText(nano)).toBe(text);
});
