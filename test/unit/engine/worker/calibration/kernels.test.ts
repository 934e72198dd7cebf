import { describe, expect, test } from "vitest";
import { chooseFlash, stepsOf, tileOf } from "../../../../../engine/worker/calibration/kernels.ts";
import type { FlashSetting, Sample } from "../../../../../engine/worker/calibration/sample.ts";
import { NO_TILE } from "../../../../../engine/worker/cost/step-model.ts";

/** Milliseconds by tokens of a chunk and positions before it. */
function samples(flash: FlashSetting, ms: Record<string, number>): Sample[] {
  return Object.entries(ms).map(([shape, ms]) => {
    const [rows, depth] = shape.split("@").map(Number);
    return { flash, rows: rows!, sequences: 1, depth: depth!, ms };
  });
}

/** Measured: a 30M model, one core of an AMD EPYC; the bundled libraries, and an earlier native build. */
const BUNDLED = [
  ...samples("auto", { "1@0": 3.35, "1@1024": 9.14, "16@0": 12.8, "16@1024": 64.5, "64@0": 49, "64@1024": 111 }),
  ...samples("off", { "1@0": 3.84, "1@1024": 5.71, "16@0": 17.3, "16@1024": 33.5, "64@0": 64, "64@1024": 149 }),
];
const NATIVE = [
  ...samples("auto", { "1@0": 2.6, "1@1024": 18.5, "16@0": 11, "16@1024": 210, "64@0": 45, "64@1024": 72 }),
  ...samples("off", { "1@0": 3.6, "1@1024": 10.9, "16@0": 14, "16@1024": 24, "64@0": 55, "64@1024": 83 }),
];

describe("flash attention", () => {
  test.each<[string, Sample[], FlashSetting, FlashSetting]>([
    ["stays on where it reads prompts as much faster as it decodes slower", BUNDLED, "auto", "auto"],
    ["is off where a position is that dear for a decode", NATIVE, "auto", "off"],
    ["stays off where it is not clearly better", BUNDLED, "off", "off"],
    ["stays as it is where only one was timed", NATIVE.filter(({ flash }) => flash === "off"), "auto", "auto"],
    ["stays as it is where no depth was timed", NATIVE.filter(({ depth }) => depth === 0), "auto", "auto"],
    ["stays as it is where no chunk was timed", NATIVE.filter(({ rows }) => rows === 1), "auto", "auto"],
    ["stays as it is where nothing was", [], "off", "off"],
  ])("%s", (_, all, usual, chosen) => {
    expect(chooseFlash(all, usual)).toBe(chosen);
  });
});

describe("the tile", () => {
  test("is the size from which a position is that much cheaper", () => {
    expect(tileOf(BUNDLED, "auto", true)).toEqual({ rows: 64, below: expect.closeTo(3.3, 0) });
    expect(tileOf(NATIVE, "auto", true)).toEqual({ rows: 64, below: expect.closeTo(29.5, 0) });
  });

  test("is none where short chunks are as cheap", () => {
    expect(tileOf(BUNDLED, "off", false)).toEqual(NO_TILE);
    expect(tileOf(NATIVE, "off", true)).toEqual(NO_TILE);
  });

  test("is the kernel's known tile where chunks were not timed", () => {
    expect(tileOf([], "auto", true)).toEqual({ rows: 64, below: 4 });
    expect(tileOf([], "auto", false)).toEqual(NO_TILE);
  });

  test("is bounded where noise makes long chunks seem free", () => {
    const noisy = samples("auto", { "16@0": 1, "16@1024": 100, "64@0": 50, "64@1024": 49 });
    expect(tileOf(noisy, "auto", false)).toEqual({ rows: 64, below: 64 });
  });
});

test("samples of the chosen setting become steps, with short chunks at their cost", () => {
  const steps = [...stepsOf(BUNDLED, "auto", { rows: 64, below: 3 })];
  expect(steps).toHaveLength(6);
  expect(steps[1]).toEqual({ shape: { prefill: 0, decode: 1, kv: 1025, read: 0, passes: 1 }, ms: 9.14 });
  expect(steps[3]!.shape).toEqual({ prefill: 16, decode: 0, kv: 0, read: 3 * (16 * 1024 + 136), passes: 1 });
  expect(steps[5]!.shape.read).toBe(64 * 1024 + 2080);
});
