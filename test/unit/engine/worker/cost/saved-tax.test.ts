import { expect, test } from "vitest";
import { SavedTax } from "../../../../../engine/worker/cost/saved-tax.ts";

const ONLINE = { onlineMs: 10, predictedMs: 10 };

test("batch may spend the saved tax after 10 s of online work, flex at once", () => {
  const saved = new SavedTax(0.1);
  for (let i = 0; i < 999; i++) saved.count(ONLINE, 0, 30, true);
  expect(saved.ms(false)).toBe(0);
  expect(saved.ms(true)).toBe(30);
  saved.count(ONLINE, 0, 30, true);
  expect(saved.ms(false)).toBe(30);
  // A step of lower tiers between two of online work.
  saved.count({ onlineMs: 0, predictedMs: 20 }, 0, 30, true);
  expect(saved.ms(false)).toBeCloseTo(10);
  saved.count({ onlineMs: 0, predictedMs: 25 }, 0, 30, false);
  expect(saved.ms(false)).toBe(0);
});

test("it stays within its bound, which is 0 without lower tiers", () => {
  const saved = new SavedTax(0.1);
  for (let i = 0; i < 1001; i++) saved.count(ONLINE, 0, 7, true);
  expect(saved.ms(false)).toBe(7);
  saved.count(ONLINE, 0, 0, true);
  expect(saved.ms(false)).toBe(0);
});
