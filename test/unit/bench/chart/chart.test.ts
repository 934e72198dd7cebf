import { expect, test } from "vitest";
import { figure } from "../../../../bench/base/table.ts";
import { type Bar, barChart } from "../../../../bench/chart/bar-chart.ts";
import { lineChart } from "../../../../bench/chart/line-chart.ts";
import { ticks } from "../../../../bench/chart/scale.ts";

const bar = (value: number, more: Partial<Bar> = {}): Bar => ({
  label: "a",
  series: 0,
  value,
  min: value,
  max: value,
  ...more,
});
const widths = (svg: string) => [...svg.matchAll(/<rect [^>]*width="([\d.]+)"/g)].map(([, width]) => Number(width));

/** Asserts that all elements are closed in order, without a parser. */
function isWellFormed(svg: string): boolean {
  const open: string[] = [];
  for (const [, closing, name, selfClosing] of svg.matchAll(/<(\/?)([a-z]+)[^>]*?(\/?)>/g)) {
    if (closing) {
      if (open.pop() !== name) return false;
    } else if (!selfClosing) open.push(name!);
  }
  return open.length === 0;
}

test("bars are proportional to their values on the scale of their panel", () => {
  const panel = (title: string, values: number[]) => ({
    title,
    groups: [{ label: "g", bars: values.map((value) => bar(value)) }],
  });
  const svg = barChart("t", [panel("one", [50, 100]), panel("two", [1, 4])], figure);
  const [half, whole, quarter, all] = widths(svg);
  expect(half! / whole!).toBeCloseTo(0.5, 2);
  expect(quarter! / all!).toBeCloseTo(0.25, 2);
  expect(whole).toBe(all);
  expect(isWellFormed(svg)).toBe(true);
});

test("a missing value has no bar and does not affect others", () => {
  const bars = [bar(Number.NaN), bar(10)];
  const svg = barChart("t", [{ title: "p", groups: [{ label: "g", bars }] }], figure);
  expect(widths(svg)).toHaveLength(1);
  expect(svg).not.toContain("NaN");
  expect(svg).toContain("–");
});

test("markup in texts is escaped", () => {
  const svg = barChart('a "b" <c> & d', [{ title: "<script>", groups: [] }], figure);
  expect(svg).not.toMatch(/<script|<c>/);
  expect(isWellFormed(svg)).toBe(true);
});

test("higher values are drawn higher, and labels do not overlap", () => {
  const line = (label: string, ys: number[]) => ({
    label,
    series: 0,
    points: ys.map((y, x) => ({ x, y, min: y, max: y })),
  });
  const svg = lineChart("t", "x", [line("a", [0, 100]), line("b", [50, 101]), line("c", [10, 99])], figure);
  const [first] = [...svg.matchAll(/points="([^"]+)"/g)].map(([, points]) =>
    points!.split(" ").map((point) => Number(point.split(",")[1])),
  );
  expect(first![1]).toBeLessThan(first![0]!);
  const heights = ["a", "b", "c"].map((name) => Number(new RegExp(`y="([\\d.]+)"[^>]*>${name}<`).exec(svg)![1]));
  heights.sort((a, b) => a - b);
  expect(heights[1]! - heights[0]!).toBeGreaterThan(11);
  expect(heights[2]! - heights[1]!).toBeGreaterThan(11);
  expect(isWellFormed(svg)).toBe(true);
});

test("an axis ends at a round value of at least the maximum", () => {
  expect(ticks(827)).toEqual([0, 200, 400, 600, 800, 1000]);
  expect(ticks(1)).toEqual([0, 0.2, 0.4, 0.6, 0.8, 1]);
  expect(ticks(0)).toEqual([0, 1]);
  for (const most of [0.003, 7, 99, 12_345]) expect(ticks(most).at(-1)).toBeGreaterThanOrEqual(most);
});
