import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { TokenBucket } from "../../../ledger/token-bucket.ts";

describe("a token bucket", () => {
  it("admits a whole minute at once, then what drains", () => {
    const bucket = new TokenBucket();
    expect(bucket.take(60, 60, 0)).toBe(true);
    expect(bucket.take(1, 60, 999)).toBe(false);
    expect(bucket.waitMs(1, 60, 999)).toBeCloseTo(1, 6);
    expect(bucket.take(1, 60, 1000)).toBe(true);
    expect(bucket.remaining(60, 31_000)).toBe(30);
    expect(bucket.resetMs(60, 31_000)).toBe(30_000);
    expect(bucket.remaining(60, 1e9)).toBe(60);
  });

  it("never admits more than its limit", () => {
    expect(new TokenBucket().waitMs(61, 60, 0)).toBe(Number.POSITIVE_INFINITY);
  });

  it("applies a new limit at once", () => {
    const bucket = new TokenBucket();
    bucket.take(60, 60, 0);
    expect(bucket.remaining(100, 0)).toBe(40);
    expect(bucket.remaining(10, 0)).toBe(0);
  });

  it("is empty a minute after its limit was reduced", () => {
    const bucket = new TokenBucket();
    bucket.take(30_000, 60_000, 0);
    expect(bucket.resetMs(60, 0)).toBe(60_000);
    // A request from before the change is settled with a refund.
    bucket.correct(-30_000, 0);
    expect(bucket.remaining(60, 0)).toBe(60);
  });

  it("drains an excess over its limit first", () => {
    const bucket = new TokenBucket();
    bucket.take(10, 60, 0);
    bucket.correct(80, 0);
    expect(bucket.remaining(60, 0)).toBe(0);
    expect(bucket.waitMs(1, 60, 0)).toBe(31_000);
    expect(bucket.take(1, 60, 31_000)).toBe(true);
  });

  it("answers for later times without a change", () => {
    const bucket = new TokenBucket();
    bucket.take(2, 26, 0);
    const waitMs = bucket.waitMs(26, 26, 0);
    expect(bucket.waitMs(26, 26, waitMs)).toBe(0);
    expect(bucket.waitMs(26, 26, 0)).toBe(waitMs);
  });

  const step = fc.record({
    after: fc.integer({ min: 0, max: 90_000 }),
    units: fc.integer({ min: 0, max: 40 }),
    /** The units that it used in the end. */
    real: fc.integer({ min: 0, max: 40 }),
  });
  it("over any interval admits at most limit plus drain, and reports an exact wait", () => {
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
            // Sums of fractions lose up to a billionth of a millisecond.
            if (Number.isFinite(waitMs)) expect(bucket.waitMs(units, limit, now + waitMs)).toBeLessThan(1e-6);
            continue;
          }
          // Refunds only: corrections upwards may exceed the limit.
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
