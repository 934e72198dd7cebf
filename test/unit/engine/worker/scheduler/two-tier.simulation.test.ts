import { describe, expect, test } from "vitest";
import type { Tier } from "../../../../../engine/protocol/request.ts";
import { isOnline } from "../../../../../engine/worker/scheduler/tiers.ts";
import { type ComputedStep, type Machine, Saturation, type TwoTierSetup, TwoTiers } from "./two-tier.ts";

const GPU: Machine = { fit: { o: 8, p: 0.02, d: 0.06, k: 0.000002, r: 0.000002, m: 6 }, noise: 0.05 };
const MIXING_GPU: Machine = { ...GPU, fit: { ...GPU.fit, m: 0 } };
const SMALL_CPU: Machine = { fit: { o: 1, p: 0.12, d: 0.4, k: 0.00002, r: 0.00002, m: 0.7 }, noise: 0.05 };
const SLOW_CPU: Machine = { fit: { o: 55, p: 6.8, d: 10, k: 0.0002, r: 0.0002, m: 20 }, noise: 0.05 };

/** A load, and the limits under which it runs. */
interface Load extends TwoTierSetup {
  gapMs: number;
  online: number;
  backlog: Partial<Record<"flex" | "batch", number>>;
}

const SETUP: Omit<Load, "machine" | "gapMs"> = {
  kind: "split",
  sequences: 32,
  cells: 512,
  itlMs: 50,
  batchTax: 0.1,
  batchStepMs: 25,
  online: 1000,
  backlog: { flex: 3, batch: 40 },
  seed: 1,
};

function percentile(values: number[], share: number): number {
  return values.sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(share * values.length))] ?? 0;
}

/** Steps after which the step model counts as settled. */
const LEARNT = 100;

function live(load: Load): { tiers: TwoTiers; steps: ComputedStep[] } {
  const tiers = new TwoTiers(load, new Saturation(load.online, load.gapMs, load.backlog, load.seed));
  const steps: ComputedStep[] = [];
  tiers.run((each) => steps.push(each));
  return { tiers, steps };
}

type Condition = (computed: ComputedStep) => boolean;

function longestRun(steps: readonly ComputedStep[], counts: Condition, ends: Condition): number {
  let longest = 0;
  let run = 0;
  for (const each of steps) {
    if (ends(each)) run = 0;
    else if (counts(each)) run++;
    longest = Math.max(longest, run);
  }
  return longest;
}

const has =
  (tier: Tier) =>
  ({ step }: ComputedStep) =>
    step.entries.some(({ sequence }) => sequence.tier === tier);

describe.each<[string, Load]>([
  ["a GPU, split cache", { ...SETUP, machine: GPU, gapMs: 60 }],
  ["a GPU, unified cache with few cells", { ...SETUP, machine: MIXING_GPU, gapMs: 60, kind: "unified", cells: 3000 }],
  ["a small model on a CPU, split cache", { ...SETUP, machine: SMALL_CPU, gapMs: 60 }],
  ["a slow machine, split cache", { ...SETUP, machine: SLOW_CPU, gapMs: 3000, online: 500 }],
])("%s, saturated by flex and batch", (_, setup) => {
  const { tiers, steps } = live(setup);
  const alone = live({ ...setup, backlog: {} });
  const { machine, batchTax, batchStepMs, itlMs } = setup;
  const late = steps.slice(LEARNT);
  const withOnline = late.filter(({ step }) => step.onlineTokens > 0);
  const lowerOnly = late.filter(({ step }) => step.onlineTokens === 0);
  /** The longest step of lower tiers alone: the bound, or the shortest chunk where that is longer. */
  const longestLower = Math.max(batchStepMs, machine.fit.o + 16 * machine.fit.p);
  const waits = (of: TwoTiers) => of.sequences.filter(isOnline).map(({ waited }) => waited!);

  test("every request ends, and nothing leaks", () => {
    expect(tiers.sequences.every(({ state }) => state === "ended")).toBe(true);
    expect([tiers.scheduler.running, tiers.scheduler.waiting]).toEqual([0, 0]);
    const each = setup.kind === "split" ? setup.cells : Math.floor(setup.cells / setup.sequences) - 16;
    for (let i = 0; i < setup.sequences; i++) {
      const sequence = { id: -1, tokens: Array.from({ length: each }, () => -i), computed: 0, scope: "" };
      expect(tiers.cache.place(sequence, true) && tiers.cache.extend(sequence, each)).toBe(true);
    }
  });

  test("an online request waits for at most one step of lower tiers", () => {
    for (const sequence of tiers.sequences.filter(isOnline)) expect(sequence.behindLower).toBeLessThanOrEqual(1);
    // Prompts queue behind prompts that the tax makes longer: waits grow by more than it.
    expect(percentile(waits(tiers), 0.99)).toBeLessThan(
      (1 + 2 * batchTax) * percentile(waits(alone.tiers), 0.99) + 1.2 * longestLower,
    );
  });

  test("no plan exceeds the cap, except by overdue flex or the saved tax", () => {
    const exceeding = withOnline.filter(({ step: { predictedMs, onlineMs, lowerTokens } }) => {
      const taxed = onlineMs * (1 + batchTax) + 1e-9;
      return lowerTokens > 0 && predictedMs > (onlineMs > itlMs ? taxed : Math.min(taxed, itlMs));
    });
    for (const { step } of exceeding) expect(step.entries.filter(({ sequence }) => !isOnline(sequence)).length).toBe(1);
    const taxed = late.filter(({ onlineRuns }) => onlineRuns);
    const sum = (of: (computed: ComputedStep) => number) => taxed.reduce((total, each) => total + of(each), 0);
    expect(sum(({ step }) => step.predictedMs - step.onlineMs)).toBeLessThan(
      (batchTax + 0.02) * sum(({ step }) => step.onlineMs),
    );
    for (const { step } of lowerOnly)
      expect(step.predictedMs <= batchStepMs || (step.entries.length === 1 && step.lowerTokens <= 16)).toBe(true);
  });

  test("measured steps keep the cap as far as the machine is predictable", () => {
    const beside = late.filter(({ onlineRuns }) => onlineRuns);
    const sum = (of: (computed: ComputedStep) => number) => beside.reduce((total, each) => total + of(each), 0);
    expect(sum(({ exact }) => exact)).toBeLessThan((1 + batchTax) * 1.05 * sum(({ onlineExact }) => onlineExact));
    expect(
      percentile(
        lowerOnly.map(({ took }) => took),
        0.99,
      ),
    ).toBeLessThan(1.2 * longestLower);
    expect(tiers.model.error.median).toBeLessThan(machine.noise);
    // The saved tax lengthens one gap of many, so the median does not change.
    const longer = (share: number) => percentile(tiers.gaps, share) / percentile(alone.tiers.gaps, share);
    expect(longer(0.5)).toBeLessThan((1 + batchTax) * 1.15);
    expect(longer(0.9)).toBeLessThan((1 + batchTax) * 1.3);
  });

  test("neither lower tier starves", () => {
    expect(longestRun(steps, ({ step }) => step.onlineTokens > 0, has("flex"))).toBeLessThan(400);
    expect(longestRun(steps, ({ step }) => step.onlineTokens === 0 && step.lowerTokens > 0, has("batch"))).toBeLessThan(
      60,
    );
    const ended = tiers.sequences.filter(({ tier, tokens, goal }) => tier === "batch" && tokens.length >= goal);
    expect(ended.length).toBeGreaterThan(40);
  });
});

test("with batch alone the engine is never idle, and its steps reach their cap", () => {
  // More sequences than a step has time for, so that the cap bounds it.
  const places = { sequences: 128, backlog: { batch: 40 } };
  const { tiers, steps } = live({ ...SETUP, ...places, machine: SMALL_CPU, online: 1, gapMs: 20_000 });
  const before = steps.slice(
    LEARNT,
    steps.findIndex(({ step }) => step.onlineTokens > 0),
  );
  expect(before.length).toBeGreaterThan(50);
  const busy = steps.reduce((sum, { took }) => sum + took, 0);
  expect(busy / tiers.now).toBeGreaterThan(0.999);
  expect(
    percentile(
      before.map(({ took }) => took),
      0.5,
    ),
  ).toBeGreaterThan(0.9 * 25);
});
