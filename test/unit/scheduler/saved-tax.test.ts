import { expect, test } from "vitest";
import { SavedTax } from "../../../engine/worker/scheduler/saved-tax.ts";

const ONLINE = { onlineMs: 10, predictedMs: 10 };

test("what is saved of the tax is spent after 64 steps in a row with online work, and until a step without", () => {
  const saved = new SavedTax(0.1);
  for (let i = 0; i < 63; i++) saved.count(ONLINE, 0, 30, true);
  expect(saved.ms).toBe(0);
  saved.count(ONLINE, 0, 30, true);
  expect(saved.ms).toBe(30);
  // A step of lower tiers between two of online work.
  saved.count({ onlineMs: 0, predictedMs: 20 }, 0, 30, true);
  expect(saved.ms).toBeCloseTo(10);
  saved.count({ onlineMs: 0, predictedMs: 25 }, 0, 30, false);
  expect(saved.ms).toBe(0);
});

test("it stays within its bound, and none is saved where nothing of lower tiers runs", () => {
  const saved = new SavedTax(0.1);
  for (let i = 0; i < 1000; i++) saved.count(ONLINE, 0, 7, true);
  expect(saved.ms).toBe(7);
  saved.count(ONLINE, 0, 0, true);
  expect(saved.ms).toBe(0);
});
