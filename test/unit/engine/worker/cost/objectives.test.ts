import { describe, expect, test } from "vitest";
import { type AskedObjectives, ObjectiveWatch } from "../../../../../engine/worker/cost/objectives.ts";
import type { StepCosts, StepShape } from "../../../../../engine/worker/cost/step-model.ts";

const AUTO: AskedObjectives = { ttftMs: "auto", itlMs: "auto" };
const ENGINE = { sequences: 32, context: 8192 };

/** Eight streams of 512 positions take 20 ms at speed 1, and 512 prompt tokens 500 ms. */
function machine(speed: number): StepCosts {
  const predict = ({ prefill, decode, kv, read }: StepShape) =>
    (4 + 0.75 * prefill + 1.5 * decode + kv / 1024 + read * 0.001) / speed;
  return { predict, reach: { prefill: 512, decode: 64 } };
}

function derived(speed: number, asked = AUTO): ObjectiveWatch {
  const watch = new ObjectiveWatch(asked, ENGINE);
  watch.review(machine(speed));
  return watch;
}

describe("derived objectives", () => {
  test.each([
    [100, 50, 500],
    [10, 50, 500],
    [1, 180, 720],
    [0.5, 200, 1_500],
    [0.1, 800, 7_700],
  ])("at speed %d the gap between two tokens may be about %d ms, the first token take %d", (speed, itlMs, ttftMs) => {
    const watch = derived(speed);
    expect(watch.itlMs / itlMs).toBeGreaterThan(0.95);
    expect(watch.itlMs / itlMs).toBeLessThan(1.05);
    expect(watch.ttftMs / ttftMs).toBeGreaterThan(0.9);
    expect(watch.ttftMs / ttftMs).toBeLessThan(1.1);
  });

  test("never fall as a machine gets slower, without a cliff", () => {
    const speeds = Array.from({ length: 200 }, (_, i) => 100 * 0.955 ** i);
    const gaps = speeds.map((speed) => derived(speed).itlMs);
    for (let i = 1; i < gaps.length; i++) {
      expect(gaps[i]).toBeGreaterThanOrEqual(gaps[i - 1]!);
      // One look at a time has a hysteresis of 1.25 from the start, 50 ms.
      expect(gaps[i]! / gaps[i - 1]!).toBeLessThan(1.3);
    }
  });

  test("are those of the options where these set them", () => {
    const watch = derived(0.1, { ttftMs: 300, itlMs: 20 });
    watch.observe(900, machine(0.1), true);
    expect([watch.ttftMs, watch.itlMs]).toEqual([300, 20]);
  });

  test("rise at once for streams that alone would miss them, while these run", () => {
    const watch = derived(1);
    const before = watch.itlMs;
    watch.observe(180, machine(1), true);
    expect(watch.itlMs).toBe(360);
    for (let i = 0; i < 900; i++) watch.observe(20, machine(1), true);
    expect(watch.itlMs).toBe(360);
    for (let i = 0; i < 1000; i++) watch.observe(20, machine(1), true);
    expect(watch.itlMs).toBe(before);
  });

  test("do not change while costs vary by a tenth", () => {
    const watch = derived(1);
    const before = watch.itlMs;
    for (let i = 0; i < 20_000; i++) watch.observe(20, machine(1 + 0.1 * Math.sin(i / 700)), true);
    expect(watch.itlMs).toBe(before);
  });

  test("are not derived from a model with too few measurements", () => {
    const watch = new ObjectiveWatch(AUTO, ENGINE);
    for (let i = 0; i < 2000; i++) watch.observe(5, machine(0.1), false);
    expect([watch.ttftMs, watch.itlMs]).toEqual([500, 50]);
  });
});
