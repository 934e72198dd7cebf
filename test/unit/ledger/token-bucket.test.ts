import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { TokenBucket } from "../../../ledger/token-bucket.ts";

describe("a token bucket", () => {
  it("gives a whole minute at once, and then as much as drains", () => {
    const bucket = new TokenBucket();
    expect(bucket.take(60, 60, 0)).toBe(true);
    expect(bucket.take(1, 60, 999)).toBe(false);
    expect(bucket.waitMs(1, 60, 999)).toBeCloseTo(1, 6);
    expect(bucket.take(1, 60, 1000)).toBe(true);
    expect(bucket.remaining(60, 31_000)).toBe(30);
    expect(bucket.resetMs(60, 31_000)).toBe(30_000);
    expect(bucket.remaining(60, 1e9)).toBe(60);
  });

  it("never has room for more than it holds", () => {
    expect(new TokenBucket().waitMs(61, 60, 0)).toBe(Number.POSITIVE_INFINITY);
  });

  it("holds a new limit at once", () => {
    const bucket = new TokenBucket();
    bucket.take(60, 60, 0);
    expect(bucket.remaining(100, 0)).toBe(40);
    expect(bucket.remaining(10, 0)).toBe(0);
  });

  it("has a whole minute again a minute after it became smaller", () => {
    const bucket = new TokenBucket();
    bucket.take(30_000, 60_000, 0);
    expect(bucket.resetMs(60, 0)).toBe(60_000);
    // What ran before the change gives back what it took too much.
    bucket.correct(-30_000, 0);
    expect(bucket.remaining(60, 0)).toBe(60);
  });

  it("owes what was taken beyond it, and drains that first", () => {
    const bucket = new TokenBucket();
    bucket.take(10, 60, 0);
    bucket.correct(80, 0);
    expect(bucket.remaining(60, 0)).toBe(0);
    expect(bucket.waitMs(1, 60, 0)).toBe(31_000);
    expect(bucket.take(1, 60, 31_000)).toBe(true);
  });

  it("tells of later times without going there", () => {
    const bucket = new TokenBucket();
    bucket.take(2, 26, 0);
    const waitMs = bucket.waitMs(26, 26, 0);
    expect(bucket.waitMs(26, 26, waitMs)).toBe(0);
    expect(bucket.waitMs(26, 26, 0)).toBe(waitMs);
  });

  const step = fc.record({
    after: fc.integer({ min: 0, max: 90_000 }),
    units: fc.integer({ min: 0, max: 40 }),
    /** What it turned out to take. */
    real: fc.integer({ min: 0, max: 40 }),
  });
  it("lets no stretch of time take more than it holds and what drains, and waits for no longer than it says", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 100 }), fc.array(step, { maxLength: 60 }), (limit, steps) => {
        const bucket = new TokenBucket();
        const taken: { at: number; units: number }[] = [];
        let now = 0;
        for (const { after, units, real } of steps) {
          now += after;
          const waitMs = bucket.waitMs(units, limit, now);
          const took = bucket.take(units, limit, now);
          expect(took).toBe(waitMs === 0);
          if (!took) {
            // A billionth of a millisecond is what sums of fractions lose.
            if (Number.isFinite(waitMs)) expect(bucket.waitMs(units, limit, now + waitMs)).toBeLessThan(1e-6);
            continue;
          }
          // Refunds alone: debts may go over the limit by what was not foreseen.
          const used = Math.min(real, units);
          bucket.correct(used - units, now);
          taken.push({ at: now, units: used });
        }
        for (const [first, { at: from }] of taken.entries()) {
          let sum = 0;
          for (const { at, units } of taken.slice(first)) {
            sum += units;
            expect(sum).toBeLessThanOrEqual(limit + ((at - from) * limit) / 60_000 + 1e-6);
          }
        }
      }),
    );
  });
});
