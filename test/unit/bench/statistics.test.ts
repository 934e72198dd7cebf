import fc from "fast-check";
import { expect, test } from "vitest";
import { distribution, median, quantile, slope, spread } from "../../../bench/base/statistics.ts";

test("quantiles interpolate between the closest ranks, like NumPy's default", () => {
  const values = [15, 20, 35, 40, 50];
  expect(quantile(values, 0.4)).toBeCloseTo(29);
  expect(quantile(values, 0)).toBe(15);
  expect(quantile(values, 1)).toBe(50);
  expect(median([3, 1, 2])).toBe(2);
  expect(median([4, 1, 2, 3])).toBe(2.5);
  expect(quantile([7], 0.99)).toBe(7);
  expect(quantile([], 0.5)).toBeNaN();
  expect(quantile([10, 9, 100, 1], 1)).toBe(100);
});

test("quantiles lie within the values, rise with q and do not depend on order", () => {
  const values = fc.array(fc.double({ noNaN: true, min: -1e9, max: 1e9 }), { minLength: 1 });
  const share = fc.double({ noNaN: true, min: 0, max: 1 });
  fc.assert(
    fc.property(values, share, share, (list, a, b) => {
      const [low, high] = [Math.min(a, b), Math.max(a, b)];
      expect(quantile(list, low)).toBeGreaterThanOrEqual(Math.min(...list));
      expect(quantile(list, high)).toBeLessThanOrEqual(Math.max(...list));
      // interpolation may round in the last place
      expect(quantile(list, low)).toBeLessThanOrEqual(quantile(list, high) + 1e-6);
      expect(quantile([...list].reverse(), a)).toBe(quantile(list, a));
    }),
  );
});

test("a distribution and a spread have the right fields", () => {
  const values = Array.from({ length: 101 }, (_, i) => i);
  expect(distribution(values)).toEqual({ count: 101, mean: 50, min: 0, p50: 50, p90: 90, p99: 99, max: 100 });
  expect(spread([3, 9, 4])).toEqual({ median: 4, min: 3, max: 9 });
});

test("the slope is that of the least-squares line", () => {
  expect(slope([0, 1, 2, 3].map((x) => ({ x, y: 5 + 2 * x })))).toBeCloseTo(2);
  expect(
    slope([
      { x: 0, y: 0 },
      { x: 1, y: 2 },
      { x: 2, y: 1 },
    ]),
  ).toBeCloseTo(0.5);
  expect(slope([{ x: 1, y: 1 }])).toBeNaN();
});
