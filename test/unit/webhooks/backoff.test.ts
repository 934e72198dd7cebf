import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { nextAttempt } from "../../../webhooks/backoff.ts";

const DAY = 86_400_000;
const BORN = 1_800_000_000_000;

describe("the waits between attempts", () => {
  it("grow by a factor of four up to six hours", () => {
    const waits = [1, 2, 3, 4, 7, 8, 50].map((attempts) => nextAttempt(attempts, BORN, BORN, 0.5)! - BORN);
    expect(waits).toEqual([5_000, 20_000, 80_000, 320_000, 20_480_000, 21_600_000, 21_600_000]);
  });

  it("end with one last attempt three days after the event", () => {
    let now = BORN;
    let attempts = 0;
    for (;;) {
      attempts++;
      const next = nextAttempt(attempts, BORN, now, 0.5);
      if (next === null) break;
      expect(next).toBeGreaterThan(now);
      now = next;
    }
    expect(now).toBe(BORN + 3 * DAY);
    expect(attempts).toBeGreaterThan(15);
    expect(attempts).toBeLessThan(25);
  });

  it("vary by a quarter and stay within three days", () => {
    const any = fc.tuple(
      fc.integer({ min: 1, max: 400 }),
      fc.integer({ min: 0, max: 4 * DAY }),
      fc.double({ min: 0, max: 1, noNaN: true }),
    );
    fc.assert(
      fc.property(any, ([attempts, age, random]) => {
        const next = nextAttempt(attempts, BORN, BORN + age, random);
        if (age >= 3 * DAY) return next === null;
        const middle = nextAttempt(attempts, BORN, BORN + age, 0.5)!;
        return next! <= BORN + 3 * DAY && Math.abs(next! - middle) <= (middle - BORN - age) * 0.34 + 1;
      }),
    );
  });
});
