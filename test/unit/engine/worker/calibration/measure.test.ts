import { expect, test } from "vitest";
import { type MeasureOptions, measureSteps, type StepTimer } from "../../../../../engine/worker/calibration/measure.ts";
import type { FlashSetting, ProbeShape } from "../../../../../engine/worker/calibration/sample.ts";

/** A machine whose step takes what `msOf` says, on a clock of its own. */
function machine(msOf: (shape: ProbeShape) => number | null) {
  let clock = 0;
  let steps = 0;
  const timer: StepTimer = {
    time: async (shape) => {
      steps++;
      const ms = msOf(shape);
      clock += ms ?? 0;
      return ms;
    },
  };
  const measure = async (options: Partial<MeasureOptions> = {}) => {
    const timers = new Map<FlashSetting, StepTimer>([
      ["auto", timer],
      ["off", timer],
    ]);
    return measureSteps(timers, { depth: 1024, sequences: 4, budgetMs: 2000, now: () => clock, ...options });
  };
  return { measure, elapsed: () => clock, count: () => steps };
}

test("a fast machine times every shape under both settings", async () => {
  const samples = await machine(({ rows, sequences }) => (rows * sequences) / 10).measure();
  expect(samples).toHaveLength(18);
  expect(samples.filter(({ flash }) => flash === "off")).toHaveLength(9);
});

test.each([1, 5, 20, 60, 200])("the measurement ends within the budget where a token takes %d ms", async (tokenMs) => {
  const { measure, elapsed } = machine(({ rows, sequences, depth }) => rows * sequences * tokenMs * (1 + depth / 1024));
  await measure();
  expect(elapsed()).toBeLessThanOrEqual(2000);
});

test("the measurement ends after a first step that takes a quarter of the budget", async () => {
  const { measure, count } = machine(() => 600);
  expect(await measure()).toEqual([]);
  expect(count()).toBe(1);
});

test("without deep states the other shapes are timed", async () => {
  const samples = await machine(({ rows, depth }) => (depth > 0 ? null : rows)).measure();
  expect(samples.map(({ depth }) => depth)).toEqual(samples.map(() => 0));
  expect(samples.length).toBeGreaterThan(0);
});

test("without depth and several sequences no shape is timed twice in a round", async () => {
  const { measure, count } = machine(({ rows }) => rows / 100);
  expect(await measure({ depth: 0, sequences: 1 })).toHaveLength(8);
  expect(count()).toBe(2 + 3 * 8);
});

test("the fastest step of a shape counts", async () => {
  let calls = 0;
  const samples = await machine(() => 1 + 1 / ++calls).measure();
  expect(Math.max(...samples.map(({ ms }) => ms))).toBeLessThan(1.1);
});
