import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Tier } from "../../../../../engine/protocol/request.ts";
import { type CapacityForecastOptions, capacityForecast } from "../../../../../engine/worker/cost/capacity-forecast.ts";
import type { Fit, StepCosts } from "../../../../../engine/worker/cost/step-model.ts";
import { planStep } from "../../../../../engine/worker/scheduler/plan.ts";
import type { Sequence } from "../../../../../engine/worker/scheduler/scheduled-sequence.ts";
import { StepDraft } from "../../../../../engine/worker/scheduler/step-draft.ts";
import { PLAIN } from "../scheduler/plan-rig.ts";

const OPTIONS: CapacityForecastOptions = {
  kv: "split",
  context: 2048,
  sequences: 32,
  reserved: 4,
  stepTokens: 512,
  ttftMs: 500,
  itlMs: 50,
  batchTax: 0.1,
  batchStepMs: null,
  mostStepMs: 30_000,
};

function costs({ o, p, d, k, r, m }: Fit): StepCosts {
  return {
    predict: ({ prefill, decode, kv, read, passes }) =>
      o + p * prefill + d * decode + k * kv + r * read + m * (passes - 1),
    reach: { prefill: Number.POSITIVE_INFINITY, decode: Number.POSITIVE_INFINITY },
  };
}

describe("the capacity forecast", () => {
  test("applies the caps to the fit", () => {
    const { context, decodes, alone, beside } = capacityForecast(
      costs({ o: 10, p: 0.2, d: 1, k: 0, r: 0, m: 5 }),
      OPTIONS,
    );
    expect(context).toBe(512);
    expect(decodes[0]).toEqual({ batch: 1, ms: 11 });
    expect(decodes.at(-1)).toEqual({ batch: 512, ms: 522 });
    expect(alone).toEqual({ ms: 25, decodes: 15, prefill: 75 });
    expect(beside.map(({ streams, onlineMs, decodes: lowerDecodes }) => [streams, onlineMs, lowerDecodes])).toEqual([
      [1, 11, 1],
      [2, 12, 1],
      [4, 14, 1],
      [8, 18, 1],
      [16, 26, 2],
    ]);
    expect(beside.at(-1)!.ms).toBeCloseTo(28.6, 9);
  });

  test("counts no more sequences than may run", () => {
    const { alone, beside } = capacityForecast(costs({ o: 10, p: 0, d: 0, k: 0, r: 0, m: 0 }), OPTIONS);
    expect(alone.decodes).toBe(28);
    expect(beside.map(({ decodes }) => decodes)).toEqual([28, 28, 28, 24, 16]);
  });

  test("prices positions by the kind of the cache", () => {
    const fit = { o: 0, p: 0, d: 0, k: 1e-3, r: 1e-3, m: 0 };
    const at = (change: Partial<CapacityForecastOptions>) =>
      capacityForecast(costs(fit), { ...OPTIONS, ...change }).decodes[3]!.ms;
    expect(at({})).toBeCloseTo(8 * 0.512, 9);
    expect(at({ kv: "unified" })).toBeCloseTo(8 * 8 * 0.512, 9);
    expect(at({ context: 100 })).toBeCloseTo(8 * 0.05, 9);
  });

  test("agrees with the plan of a step", () => {
    const milliseconds = (max: number) => fc.double({ min: 0, max, noNaN: true });
    const fit = fc.record({
      o: fc.double({ min: 0.1, max: 100, noNaN: true }),
      p: milliseconds(1),
      d: milliseconds(5),
      k: milliseconds(1e-3),
      r: milliseconds(1e-3),
      m: milliseconds(10),
    });
    const options = fc.record({
      batchTax: fc.double({ min: 0, max: 1, noNaN: true }),
      batchStepMs: fc.option(fc.integer({ min: 1, max: 200 })),
      itlMs: fc.integer({ min: 5, max: 200 }),
    });
    fc.assert(
      fc.property(fit, options, (truth, change) => {
        const all = { ...OPTIONS, ...change };
        const { context, alone, beside } = capacityForecast(costs(truth), all);
        const planned = (streams: number) => {
          const draft = new StepDraft<Sequence>(costs(truth), (_, count) => count * context);
          const lower = Math.min(all.sequences - streams, all.sequences - all.reserved);
          const running = [...decoding("default", streams), ...decoding("batch", lower)];
          return planStep(running, all, draft, PLAIN).filter(({ sequence }) => sequence.tier === "batch").length;
        };
        expect(planned(0)).toBe(alone.decodes);
        for (const { streams, decodes } of beside) expect(planned(streams)).toBe(decodes);
      }),
    );
  });
});

function decoding(tier: Tier, count: number): Sequence[] {
  return Array.from({ length: count }, (_, id) => {
    const who = { owner: "local", scope: "", arrival: id };
    return { id, tier, ...who, tokens: [1, 2], computed: 1, state: "running" };
  });
}
