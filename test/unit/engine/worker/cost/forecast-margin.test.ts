import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ForecastMargin } from "../../../../../engine/worker/cost/forecast-margin.ts";
import { aloneMs } from "../../../../../engine/worker/cost/step-caps.ts";

/** After steps of these ratios of measured to forecast. */
function after(ratios: number[]): number {
  const overrun = new ForecastMargin();
  for (const ratio of ratios) overrun.observe(20, 20 * ratio);
  return overrun.factor;
}

const steps = (count: number, ratio: (i: number) => number) => Array.from({ length: count }, (_, i) => ratio(i));

describe("the margin over the forecast", () => {
  test.each<[string, number[], number]>([
    ["nothing measured", [], 1],
    ["too few to decide", steps(63, () => 1.3), 1],
    ["all as forecast", steps(300, () => 1), 1],
    ["all faster", steps(300, () => 0.8), 1],
    ["one in ten is late", steps(320, (i) => (i % 10 === 0 ? 1.3 : 1)), 1.3],
    ["one in forty is late", steps(320, (i) => (i % 40 === 0 ? 1.3 : 1)), 1],
    ["far past the forecast", steps(300, () => 3), 1.5],
    ["late once, on time since", [...steps(300, () => 1.4), ...steps(256, () => 1)], 1],
    ["on time once, late since", [...steps(300, () => 1), ...steps(64, () => 1.2)], 1.2],
  ])("%s", (_, ratios, factor) => expect(after(ratios)).toBeCloseTo(factor));

  test("stays between 1 and 1.5 for any measurement", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.double(), fc.double()), { maxLength: 400 }), (measured) => {
        const overrun = new ForecastMargin();
        for (const [predicted, ms] of measured) overrun.observe(predicted, ms);
        return overrun.factor >= 1 && overrun.factor <= 1.5;
      }),
    );
  });
});

test.each<[string, number, number | null, number, number]>([
  ["the bound is for the measured step", 5, null, 1.25, 20],
  ["a bound of the operator's too", 5, 30, 1.5, 20],
  ["never below the cheapest step", 24, null, 1.5, 24],
  ["nor below it where even that is past the bound", 60, null, 1.5, 80],
])("%s", (_, cheapestMs, batchStepMs, overrun, ms) => {
  expect(aloneMs(cheapestMs, { ttftMs: 500, batchStepMs }, overrun)).toBe(ms);
});
