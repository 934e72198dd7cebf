import { expect, it } from "vitest";
import { LiveValue } from "../../../platform/live-value.ts";

it("a reader sees the value that was set last", () => {
  const live = new LiveValue(1);
  const doubled = live.map((value) => value * 2);
  expect([live.current, doubled.current]).toEqual([1, 2]);
  live.replace(5);
  expect([live.current, doubled.current]).toEqual([5, 10]);
});

it("a derived value is computed once for each value", () => {
  const live = new LiveValue("a");
  const derived = live.map((name) => ({ name }));
  expect(derived.current).toBe(derived.current);
});

it("a watcher is called with each later value, after it is current", () => {
  const live = new LiveValue(1);
  const seen: number[][] = [];
  live.watch((next) => seen.push([next, live.current]));
  live.replace(2);
  live.replace(3);
  expect(seen).toEqual([
    [2, 2],
    [3, 3],
  ]);
});
