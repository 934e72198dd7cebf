import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { type EngineLoad, predictWaitMs } from "../../../../engine/client/wait-estimate.ts";
import type { Demand } from "../../../../engine/engine.ts";
import { ONLINE_TIERS, type OnlineTier } from "../../../../engine/protocol/request.ts";
import type { Backlog, Fit, TierBacklog } from "../../../../engine/protocol/step.ts";
import { Saturation, type TwoTierSetup, TwoTiers } from "../worker/scheduler/two-tier.ts";

const NOTHING: TierBacklog = { waiting: 0, running: 0, prefill: 0, written: 0, left: 0 };
/** Tokens that answers may still have: none is near its end. */
const UNBOUNDED = 1e6;
const GPU: Fit = { o: 6, p: 0.02, d: 0.05, k: 0.00001, r: 0.00001, m: 2 };
const CPU: Fit = { o: 12, p: 1.5, d: 4, k: 0.001, r: 0.001, m: 8 };

/** Both sides of a predicted wait. */
interface View {
  load: EngineLoad;
  demand: Demand;
}

function view(tiers: Partial<Backlog["tiers"]>, demand: Partial<Demand> = {}, fit: Fit | null = CPU): View {
  const all = { priority: NOTHING, default: NOTHING, flex: NOTHING, batch: NOTHING, ...tiers };
  return {
    load: {
      backlog: {
        ...{ tiers: all, flexPlaces: 21, kvPerDecode: 100, fit, alternatingSteps: true },
        objectives: { ttftMs: 500, itlMs: 50 },
      },
      sequences: 32,
      stepTokens: 512,
      batchTax: 0.1,
    },
    demand: {
      submitted: { priority: 0, default: 0, flex: 0 },
      promptTokens: 100,
      answerTokens: 50,
      onlineShare: 0,
      shareAhead: 1,
      ...demand,
    },
  };
}

const predict = (tier: OnlineTier, { demand, load }: View) => predictWaitMs(tier, demand, load);

const count = fc.integer({ min: 0, max: 200 });
const tierBacklog = fc.record({
  waiting: count,
  running: fc.integer({ min: 0, max: 10 }),
  prefill: fc.integer({ min: 0, max: 100_000 }),
  written: fc.constant(0),
  left: fc.constant(UNBOUNDED),
});
const coefficient = (max: number) => fc.double({ min: 0, max, noNaN: true });
const fits = fc.record({
  o: coefficient(50),
  p: coefficient(10),
  d: coefficient(20),
  k: coefficient(0.01),
  r: coefficient(0.01),
  m: coefficient(20),
});
const views = fc.record({
  load: fc.record({
    backlog: fc.record({
      tiers: fc.record({ priority: tierBacklog, default: tierBacklog, flex: tierBacklog, batch: tierBacklog }),
      flexPlaces: fc.integer({ min: 1, max: 32 }),
      kvPerDecode: fc.integer({ min: 0, max: 8192 }),
      fit: fits,
      objectives: fc.record({ ttftMs: fc.constant(500), itlMs: fc.integer({ min: 1, max: 500 }) }),
      alternatingSteps: fc.boolean(),
    }),
    sequences: fc.constant(32),
    stepTokens: fc.constant(512),
    batchTax: fc.constant(0.1),
  }),
  demand: fc.record({
    submitted: fc.record({ priority: count, default: count, flex: count }),
    promptTokens: count,
    answerTokens: count,
    onlineShare: fc.double({ min: 0, max: 1, noNaN: true }),
    shareAhead: fc.double({ min: 0, max: 1, noNaN: true }),
  }),
});

const EPSILON = 1e-6;

describe("a predicted wait", () => {
  test("is finite and not negative, and no longer for a better tier", () => {
    fc.assert(
      fc.property(views, (seen) => {
        const [priority, usual, flex] = ONLINE_TIERS.map((tier) => predict(tier, seen));
        for (const ms of [priority!, usual!, flex!]) expect(Number.isFinite(ms) && ms >= 0).toBe(true);
        expect(priority).toBeLessThanOrEqual(usual! + EPSILON);
        expect(usual).toBeLessThanOrEqual(flex! * (1 + EPSILON) + EPSILON);
      }),
    );
  });

  test("grows with the work ahead and not with the work behind", () => {
    const grown = fc.constantFrom<keyof TierBacklog>("waiting", "running", "prefill");
    fc.assert(
      fc.property(views, fc.constantFrom(...ONLINE_TIERS), grown, (seen, tier, what) => {
        const { tiers } = seen.load.backlog;
        const more = { ...tiers, [tier]: { ...tiers[tier], [what]: tiers[tier][what] + 7 } };
        // The server has submitted at least what the engine has reported: else one count would hide the other.
        const submitted = what === "prefill" ? seen.demand.submitted : { priority: 400, default: 400, flex: 400 };
        const demand = { ...seen.demand, shareAhead: 1, submitted, promptTokens: 0 };
        const same = { load: seen.load, demand };
        const after = { load: { ...seen.load, backlog: { ...seen.load.backlog, tiers: more } }, demand };
        for (const asked of ONLINE_TIERS) {
          const [was, is] = [predict(asked, same), predict(asked, after)];
          if (ONLINE_TIERS.indexOf(asked) >= ONLINE_TIERS.indexOf(tier))
            expect(is).toBeGreaterThanOrEqual(was - EPSILON);
          else if (what !== "running") expect(is).toBe(was);
        }
      }),
    );
  });

  it("is 0 while ids are free and no prompt is computed, and before the step model has settled", () => {
    const busy = { default: { waiting: 0, running: 31, prefill: 0, written: 0, left: UNBOUNDED } };
    expect(predict("default", view(busy))).toBe(0);
    const flooded = { default: { waiting: 500, running: 32, prefill: 100_000, written: 0, left: UNBOUNDED } };
    expect(predict("default", view(flooded))).toBeGreaterThan(10_000);
    expect(predict("default", view(flooded, {}, null))).toBe(0);
  });

  it("counts requests that the engine has not reported yet as usual ones", () => {
    const reported = view({ default: { waiting: 40, running: 32, prefill: 4000, written: 0, left: UNBOUNDED } });
    const unreported = view(
      { default: { waiting: 0, running: 32, prefill: 0, written: 0, left: UNBOUNDED } },
      { submitted: { priority: 0, default: 72, flex: 0 } },
    );
    expect(predict("default", unreported)).toBe(predict("default", reported));
  });

  it("counts its own tier by the share ahead of it, and better tiers in full", () => {
    const all = { default: { waiting: 500, running: 32, prefill: 100_000, written: 0, left: UNBOUNDED } };
    const [first, last] = [0.01, 1].map((shareAhead) => predict("default", view(all, { shareAhead })));
    expect(first).toBeGreaterThan(0);
    expect(first).toBeLessThan(last! / 10);
    expect(predict("flex", view(all, { shareAhead: 0.01 }))).toBe(predict("flex", view(all)));
  });

  it("grows with the length of running answers, up to what they may still write", () => {
    const running = (written: number, left: number) =>
      predict("default", view({ default: { waiting: 0, running: 32, prefill: 0, written, left } }));
    const usual = running(0, UNBOUNDED);
    expect(usual).toBeGreaterThan(0);
    // Each answer has ten times the length of recent ones.
    expect(running(32 * 500, UNBOUNDED) / usual).toBeCloseTo(10);
    expect(running(32 * 500, 32 * 12.5) / usual).toBeCloseTo(0.5);
    expect(running(32 * 10, UNBOUNDED)).toBe(usual);
  });

  it("grows for flex with the time that online work takes", () => {
    const queue = { flex: { waiting: 30, running: 21, prefill: 3000, written: 0, left: UNBOUNDED } };
    const waits = [0, 0.5, 0.9, 1].map((onlineShare) => predict("flex", view(queue, { onlineShare })));
    expect(waits).toEqual(waits.toSorted((a, b) => a - b));
    expect(waits[1]! / waits[0]!).toBeCloseTo(2);
    expect(predict("default", view(queue, { onlineShare: 1 }))).toBe(0);
  });
});

/** By request: the wait predicted at the last step before it arrived, and the time until it was in a plan. */
function simulatedWaits(fit: Fit, gapMs: number): { predicted: number; waited: number }[] {
  const setup: TwoTierSetup = {
    kind: "split",
    machine: { fit, noise: 0.1 },
    sequences: 16,
    cells: 512,
    itlMs: 50,
    batchTax: 0.1,
    batchStepMs: 25,
    seed: 7,
  };
  const tiers = new TwoTiers(setup, new Saturation(200, gapMs, {}, setup.seed));
  const predictions = new Map<number, number>();
  tiers.run(() => {
    if (!tiers.model.settled) return;
    const { scheduler, model, sequences } = tiers;
    const { load, demand } = view({}, { answerTokens: 30 }, model.fit);
    const now = { ...load, sequences: 16, backlog: { ...load.backlog, ...scheduler.backlog } };
    predictions.set(sequences.length, predictWaitMs("default", demand, now));
  });
  return tiers.sequences.flatMap(({ arrival, tier, waited }) => {
    const predicted = predictions.get(arrival);
    return predicted === undefined || waited === null || tier !== "default" ? [] : [{ predicted, waited }];
  });
}

test.each<[string, Fit, number]>([
  ["a CPU", CPU, 60],
  ["a GPU", GPU, 3],
])("in overload on %s the prediction is within a factor of two of the simulated scheduler", (_, fit, gapMs) => {
  const late = simulatedWaits(fit, gapMs).filter(({ waited }) => waited > 500);
  expect(late.length).toBeGreaterThan(20);
  const ratios = late.map(({ predicted, waited }) => predicted / waited).sort((a, b) => a - b);
  const quantile = (share: number) => ratios[Math.floor(share * (ratios.length - 1))]!;
  expect(quantile(0.5)).toBeGreaterThan(0.66);
  expect(quantile(0.5)).toBeLessThan(1.5);
  expect(ratios[0]).toBeGreaterThan(0.5);
  expect(ratios.at(-1)).toBeLessThan(2);
});
