import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { TIERS } from "../../../../../engine/protocol/request.ts";
import { costShares, timeShares, type WorkPart } from "../../../../../engine/worker/cost/cost-attribution.ts";
import type { Fit } from "../../../../../engine/worker/cost/step-model.ts";

const CHAT = "/v1/chat/completions";
const ENDPOINTS = [CHAT, "/v1/completions", "/v1/embeddings", "/v1/rerank"];
const FIT: Fit = { o: 8, p: 0.5, d: 1, k: 0.001, r: 0.001, m: 4 };

const tokens = fc.integer({ min: 1, max: 2048 });
const kv = fc.integer({ min: 0, max: 10_000_000 });
const who = { tier: fc.constantFrom(...TIERS), endpoint: fc.constantFrom(...ENDPOINTS) };
const part: fc.Arbitrary<WorkPart> = fc.oneof(
  fc.record({ ...who, prefill: tokens, decode: fc.constant(0), kv: fc.constant(0), read: kv }),
  fc.record({ ...who, prefill: fc.constant(0), decode: fc.constant(1), kv, read: fc.constant(0) }),
);
const parts = fc.array(part, { minLength: 1, maxLength: 64 });
/** A possible result of least squares: never negative, often 0. */
const price = fc.oneof(fc.constant(0), fc.double({ min: 1e-9, max: 1e4, noNaN: true }));
const fit: fc.Arbitrary<Fit> = fc.record({ o: price, p: price, d: price, k: price, r: price, m: price });
const passes = fc.integer({ min: 1, max: 8 });

const decode = (tier: WorkPart["tier"], kv = 0): WorkPart => ({
  ...{ tier, endpoint: CHAT, prefill: 0, decode: 1 },
  ...{ kv, read: 0 },
});

function msOf(parts: readonly WorkPart[], ms: number, passes = 1, fit = FIT): Record<string, number> {
  const shares = timeShares(costShares(parts, passes, fit), ms);
  return Object.fromEntries(shares.map(({ tier, endpoint, ms }) => [`${tier} ${endpoint}`, ms]));
}

describe("the shares of a step", () => {
  test("sum to its time, are not negative, and name each tier and endpoint once", () => {
    const ms = fc.double({ min: 0.001, max: 60_000, noNaN: true });
    fc.assert(
      fc.property(parts, passes, fit, ms, (parts, passes, fit, ms) => {
        const shares = timeShares(costShares(parts, passes, fit), ms);
        const sum = shares.reduce((sum, share) => sum + share.ms, 0);
        expect(Math.abs(sum - ms)).toBeLessThanOrEqual(1e-9 * ms);
        expect(Math.min(...shares.map((share) => share.ms))).toBeGreaterThanOrEqual(0);
        const names = shares.map(({ tier, endpoint }) => `${tier} ${endpoint}`);
        expect(names.length).toBe(new Set(names).size);
        expect(new Set(names)).toEqual(new Set(parts.map(({ tier, endpoint }) => `${tier} ${endpoint}`)));
      }),
    );
  });

  test("do not depend on the order of the parts", () => {
    fc.assert(
      fc.property(parts, passes, fit, (parts, passes, fit) => {
        const there = msOf(parts, 100, passes, fit);
        const back = msOf(parts.toReversed(), 100, passes, fit);
        for (const [name, ms] of Object.entries(there)) expect(back[name]).toBeCloseTo(ms, 6);
      }),
    );
  });

  test("are equal for equal work at any tier", () => {
    expect(msOf([decode("priority", 50), decode("batch", 50)], 12)).toEqual({
      [`priority ${CHAT}`]: 6,
      [`batch ${CHAT}`]: 6,
    });
  });

  test("follow the price of each part, plus an equal share of the fixed cost", () => {
    // 8 ms for any content: 4 each. The prompt 32 × 0.5 + 2000 × 0.001, the decode 1 + 1000 × 0.001. 28 ms in all.
    const prompt: WorkPart = { tier: "flex", endpoint: "/v1/completions", prefill: 32, decode: 0, kv: 0, read: 2000 };
    const shares = msOf([prompt, decode("default", 1000)], 56);
    expect(shares["flex /v1/completions"]).toBeCloseTo(2 * 22, 9);
    expect(shares[`default ${CHAT}`]).toBeCloseTo(2 * 6, 9);
  });

  test("divide the cost of a second pass equally", () => {
    const shares = msOf([decode("default"), { ...decode("batch"), decode: 0, prefill: 10 }], 18, 2);
    expect(shares[`default ${CHAT}`]).toBeCloseTo(4 + 2 + 1, 9);
    expect(shares[`batch ${CHAT}`]).toBeCloseTo(4 + 2 + 5, 9);
  });

  test("are divided by tokens where the fit prices nothing", () => {
    const free: Fit = { o: 0, p: 0, d: 0, k: 0, r: 0, m: 0 };
    const shares = msOf([decode("default"), { ...decode("batch"), decode: 0, prefill: 3 }], 8, 1, free);
    expect(shares).toEqual({ [`default ${CHAT}`]: 2, [`batch ${CHAT}`]: 6 });
  });
});
