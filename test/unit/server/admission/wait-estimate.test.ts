import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { ONLINE_TIERS } from "../../../../engine/protocol/request.ts";
import type { Backlog, Fit, TierBacklog } from "../../../../engine/protocol/step.ts";
import { predictWaitMs, type WaitView } from "../../../../server/admission/wait-estimate.ts";
import { Saturation, type Shift, TwoTiers } from "../../engine/worker/scheduler/two-tier.ts";

const NOTHING: TierBacklog = { waiting: 0, running: 0, prefill: 0, written: 0, left: 0 };
/** Tokens left to write: no answer is near its end. */
const UNBOUNDED = 1e6;
const GPU: Fit = { o: 6, p: 0.02, d: 0.05, k: 0.00001, r: 0.00001, m: 2 };
const CPU: Fit = { o: 12, p: 1.5, d: 4, k: 0.001, r: 0.001, m: 8 };

function view(tiers: Partial<Backlog["tiers"]>, more: Partial<WaitView> = {}, fit: Fit | null = CPU): WaitView {
  const all = { priority: NOTHING, default: NOTHING, flex: NOTHING, batch: NOTHING, ...tiers };
  return {
    backlog: {
      ...{ tiers: all, flexPlaces: 21, kvPerDecode: 100, fit, turns: true },
      objectives: { ttftMs: 500, itlMs: 50 },
    },
    submitted: { priority: 0, default: 0, flex: 0 },
    promptTokens: 100,
    answerTokens: 50,
    sequences: 32,
    stepTokens: 512,
    itlMs: 50,
    batchTax: 0.1,
    onlineShare: 0,
    shareAhead: 1,
    ...more,
  };
}

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
const views = fc
  .record({ priority: tierBacklog, default: tierBacklog, flex: tierBacklog, batch: tierBacklog })
  .chain((tiers) =>
    fc.record({
      backlog: fc.record({
        tiers: fc.constant(tiers),
        flexPlaces: fc.integer({ min: 1, max: 32 }),
        kvPerDecode: fc.integer({ min: 0, max: 8192 }),
        fit: fits,
        objectives: fc.constant({ ttftMs: 500, itlMs: 50 }),
        turns: fc.boolean(),
      }),
      submitted: fc.record({ priority: count, default: count, flex: count }),
      promptTokens: count,
      answerTokens: count,
      sequences: fc.constant(32),
      stepTokens: fc.constant(512),
      itlMs: fc.integer({ min: 1, max: 500 }),
      batchTax: fc.constant(0.1),
      onlineShare: fc.double({ min: 0, max: 1, noNaN: true }),
      shareAhead: fc.double({ min: 0, max: 1, noNaN: true }),
    }),
  );

const EPSILON = 1e-6;

describe("a predicted wait", () => {
  test("is finite and not negative, and no better tier waits longer", () => {
    fc.assert(
      fc.property(views, (seen) => {
        const [priority, usual, flex] = ONLINE_TIERS.map((tier) => predictWaitMs(tier, seen));
        for (const ms of [priority!, usual!, flex!]) expect(Number.isFinite(ms) && ms >= 0).toBe(true);
        expect(priority).toBeLessThanOrEqual(usual! + EPSILON);
        expect(usual).toBeLessThanOrEqual(flex! * (1 + EPSILON) + EPSILON);
      }),
    );
  });

  test("grows with all that is ahead, and not with what is behind", () => {
    const grown = fc.constantFrom<keyof TierBacklog>("waiting", "running", "prefill");
    fc.assert(
      fc.property(views, fc.constantFrom(...ONLINE_TIERS), grown, (seen, tier, what) => {
        const { tiers } = seen.backlog;
        const more = { ...tiers, [tier]: { ...tiers[tier], [what]: tiers[tier][what] + 7 } };
        // What the server has submitted is at least what the engine knows of: else one would hide behind the other.
        const submitted = { priority: 400, default: 400, flex: 400 };
        const before = { ...seen, shareAhead: 1, submitted: what === "prefill" ? seen.submitted : submitted };
        const after = { ...before, promptTokens: 0, backlog: { ...seen.backlog, tiers: more } };
        const same = { ...before, promptTokens: 0 };
        for (const asked of ONLINE_TIERS) {
          const [was, is] = [predictWaitMs(asked, same), predictWaitMs(asked, after)];
          if (ONLINE_TIERS.indexOf(asked) >= ONLINE_TIERS.indexOf(tier))
            expect(is).toBeGreaterThanOrEqual(was - EPSILON);
          else if (what !== "running") expect(is).toBe(was);
        }
      }),
    );
  });

  it("is nothing while places are free and no prompt is being read, or nothing is measured", () => {
    const busy = { default: { waiting: 0, running: 31, prefill: 0, written: 0, left: UNBOUNDED } };
    expect(predictWaitMs("default", view(busy))).toBe(0);
    const flooded = { default: { waiting: 500, running: 32, prefill: 100_000, written: 0, left: UNBOUNDED } };
    expect(predictWaitMs("default", view(flooded))).toBeGreaterThan(10_000);
    expect(predictWaitMs("default", view(flooded, {}, null))).toBe(0);
  });

  it("counts what the engine has not told of yet as usual requests", () => {
    const told = view({ default: { waiting: 40, running: 32, prefill: 4000, written: 0, left: UNBOUNDED } });
    const untold = view(
      { default: { waiting: 0, running: 32, prefill: 0, written: 0, left: UNBOUNDED } },
      { submitted: { priority: 0, default: 72, flex: 0 } },
    );
    expect(predictWaitMs("default", untold)).toBe(predictWaitMs("default", told));
  });

  it("counts of its own tier what goes before it, and of better ones all", () => {
    const all = { default: { waiting: 500, running: 32, prefill: 100_000, written: 0, left: UNBOUNDED } };
    const [first, last] = [0.01, 1].map((shareAhead) => predictWaitMs("default", view(all, { shareAhead })));
    expect(first).toBeGreaterThan(0);
    expect(first).toBeLessThan(last! / 10);
    expect(predictWaitMs("flex", view(all, { shareAhead: 0.01 }))).toBe(predictWaitMs("flex", view(all)));
  });

  it("grows with what those that run have written, up to what they may write", () => {
    const running = (written: number, left: number) =>
      predictWaitMs("default", view({ default: { waiting: 0, running: 32, prefill: 0, written, left } }));
    const usual = running(0, UNBOUNDED);
    expect(usual).toBeGreaterThan(0);
    // Ten times as much as answers have had lately, each.
    expect(running(32 * 500, UNBOUNDED) / usual).toBeCloseTo(10);
    expect(running(32 * 500, 32 * 12.5) / usual).toBeCloseTo(0.5);
    expect(running(32 * 10, UNBOUNDED)).toBe(usual);
  });

  it("of flex grows with the time that online work takes", () => {
    const queue = { flex: { waiting: 30, running: 21, prefill: 3000, written: 0, left: UNBOUNDED } };
    const waits = [0, 0.5, 0.9, 1].map((onlineShare) => predictWaitMs("flex", view(queue, { onlineShare })));
    expect(waits).toEqual(waits.toSorted((a, b) => a - b));
    expect(waits[1]! / waits[0]!).toBeCloseTo(2);
    expect(predictWaitMs("default", view(queue, { onlineShare: 1 }))).toBe(0);
  });
});

/** What each request was foretold at the last step before it came, and how long it then took until it was in a plan. */
function foretold(fit: Fit, gapMs: number): { predicted: number; waited: number }[] {
  const shift: Shift = {
    kind: "split",
    machine: { fit, noise: 0.1 },
    sequences: 16,
    cells: 512,
    itlMs: 50,
    batchTax: 0.1,
    batchStepMs: 25,
    seed: 7,
  };
  const house = new TwoTiers(shift, new Saturation(200, gapMs, {}, shift.seed));
  const told = new Map<number, number>();
  house.run(() => {
    if (!house.model.settled) return;
    const { scheduler, model, guests } = house;
    const { backlog, ...rest } = view({}, { answerTokens: 30, sequences: 16 }, model.fit);
    const now = { ...rest, backlog: { ...backlog, ...scheduler.backlog } };
    told.set(guests.length, predictWaitMs("default", now));
  });
  return house.guests.flatMap(({ arrival, tier, waited }) => {
    const predicted = told.get(arrival);
    return predicted === undefined || waited === null || tier !== "default" ? [] : [{ predicted, waited }];
  });
}

test.each<[string, Fit, number]>([
  ["a CPU", CPU, 60],
  ["a GPU", GPU, 3],
])("in overload on %s it is within a factor of two, as the scheduler really goes on", (_, fit, gapMs) => {
  const late = foretold(fit, gapMs).filter(({ waited }) => waited > 500);
  expect(late.length).toBeGreaterThan(20);
  const ratios = late.map(({ predicted, waited }) => predicted / waited).sort((a, b) => a - b);
  const quantile = (share: number) => ratios[Math.floor(share * (ratios.length - 1))]!;
  expect(quantile(0.5)).toBeGreaterThan(0.66);
  expect(quantile(0.5)).toBeLessThan(1.5);
  expect(ratios[0]).toBeGreaterThan(0.5);
  expect(ratios.at(-1)).toBeLessThan(2);
});
