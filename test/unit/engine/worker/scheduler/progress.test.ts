import { expect, test } from "vitest";
import { hostMemory } from "../../../../../bench/scheduler/fake-memory.ts";
import { COSTS } from "../../../../../bench/scheduler/simulation-setup.ts";
import type { KvKind } from "../../../../../engine/protocol/config.ts";
import type { Tier } from "../../../../../engine/protocol/request.ts";
import type { StepCosts } from "../../../../../engine/worker/cost/step-model.ts";
import type { KvCache } from "../../../../../engine/worker/kv/kv-cache.ts";
import type { KvMemory } from "../../../../../engine/worker/kv/kv-memory.ts";
import { SplitCache } from "../../../../../engine/worker/kv/split-cache.ts";
import { UnifiedCache } from "../../../../../engine/worker/kv/unified-cache.ts";
import { isDecode, remaining, type Sequence } from "../../../../../engine/worker/scheduler/scheduled-sequence.ts";
import { Scheduler, type Step } from "../../../../../engine/worker/scheduler/scheduler.ts";
import { LIMITS } from "./plan-rig.ts";

const NO_MEMORY: KvMemory = {
  remove: () => {},
  copy: () => {},
  sharesStates: true,
  canCut: () => false,
  moving: () => false,
  save: () => null,
  load: () => false,
  savePartial: () => null,
  partialBytes: () => 0,
  loadPartial: () => false,
};

/** A scheduler whose sequences have prompts without a common prefix, and never end. */
class Rig {
  readonly cache: KvCache;
  readonly scheduler: Scheduler<Sequence>;
  #arrivals = 0;

  constructor(costs: StepCosts, kind: KvKind = "split") {
    const common = { ids: 4, reserved: 1, reuse: "parts" as const };
    this.cache =
      kind === "split"
        ? new SplitCache(NO_MEMORY, hostMemory(0), { ...common, capacity: 100_000, copyPrice: 32 })
        : new UnifiedCache(NO_MEMORY, hostMemory(0), { ...common, cells: 100_000 });
    this.scheduler = new Scheduler(this.cache, { ...LIMITS, sequences: 4, reserved: 1, reuse: "parts" }, costs);
  }

  add(tier: Tier, prompt: number): Sequence {
    const arrival = this.#arrivals++;
    const tokens = Array.from({ length: prompt }, (_, i) => (i === 0 ? arrival : i));
    const sequence: Sequence = { id: -1, tier, owner: "", scope: "", arrival, tokens, computed: 0, state: "waiting" };
    this.scheduler.add(sequence);
    return sequence;
  }

  next(): Step<Sequence> {
    const step = this.scheduler.schedule();
    for (const { sequence, count } of step.entries) {
      sequence.computed += count;
      if (remaining(sequence) === 0) sequence.tokens.push(1);
    }
    return step;
  }

  /** A stream that has run alone for so long that batch may spend the saved tax. */
  streamForLong(): void {
    this.add("default", 20);
    for (let ms = 0; ms <= 10_000; ) ms += this.next().predictedMs;
  }

  /** @returns the tier and tokens of each entry */
  step(): [Tier, number][] {
    const { entries } = this.next();
    return entries.map(({ sequence, count }) => [sequence.tier, count]);
  }
}

test("the others continue when a flex request ends in any step", () => {
  for (let leaves = 0; leaves <= 140; leaves++) {
    const rig = new Rig(COSTS);
    rig.add("default", 20);
    rig.step();
    const flex = rig.add("flex", 400);
    rig.add("batch", 400);
    const planned: number[] = [];
    for (let step = 0; step < leaves + 3; step++) {
      if (step === leaves) rig.scheduler.end(flex);
      planned.push(rig.step().length);
    }
    expect(planned).not.toContain(0);
    expect(rig.scheduler.forced).toBe(0);
  }
});

const LATE: StepCosts = { ...COSTS, predict: (shape) => 20 * COSTS.predict(shape) };

test.each<[string, Tier, StepCosts, KvKind]>([
  ["a batch prompt in a split cache", "batch", COSTS, "split"],
  ["a flex prompt in a split cache", "flex", COSTS, "split"],
  ["a batch prompt in a split cache where streams miss their objective", "batch", LATE, "split"],
  ["a batch prompt in a unified cache", "batch", COSTS, "unified"],
  ["a batch prompt in a unified cache where streams miss their objective", "batch", LATE, "unified"],
])("%s makes progress beside an endless stream by the tax", (_, tier, costs, kind) => {
  const rig = new Rig(costs, kind);
  rig.streamForLong();
  const lower = rig.add(tier, 400);
  let [streamMs, lowerMs, steps] = [0, 0, 0];
  while (lower.tokens.length < 420 && steps++ < 5000) {
    const { onlineMs, predictedMs } = rig.next();
    streamMs += onlineMs;
    lowerMs += predictedMs - onlineMs;
  }
  expect(lower.tokens.length).toBe(420);
  // Flex has one step in 129 besides.
  const share = lowerMs / streamMs;
  expect(share).toBeGreaterThan(0.9 * LIMITS.batchTax);
  expect(share).toBeLessThan(LIMITS.batchTax + (tier === "flex" ? 0.06 : 0.001));
});

test.each<[KvKind, Tier, string, StepCosts]>([
  ["split", "batch", "keep", COSTS],
  ["split", "flex", "keep", COSTS],
  ["split", "batch", "miss", LATE],
  ["unified", "batch", "keep", COSTS],
  ["unified", "batch", "miss", LATE],
])("%s cache: %s makes progress beside streams and prompts that %s the objective", (kind, tier, _, costs) => {
  const rig = new Rig(costs, kind);
  rig.streamForLong();
  const prompt = rig.add("default", 60_000);
  const lower = rig.add(tier, 400);
  let [onlineMs, lowerMs, gapMs, steps] = [0, 0, 0, 0];
  while (lower.tokens.length < 420 && steps++ < 5000) {
    const step = rig.next();
    onlineMs += step.onlineMs;
    lowerMs += step.predictedMs - step.onlineMs;
    gapMs += step.predictedMs;
    if (!step.entries.some(({ sequence }) => sequence.arrival === 0)) continue;
    // Flex has one step in 129 besides.
    if (tier === "batch" && costs !== LATE) expect(gapMs).toBeLessThanOrEqual(LIMITS.itlMs);
    gapMs = 0;
  }
  expect(lower.tokens.length).toBe(420);
  expect(isDecode(prompt)).toBe(false);
  expect(lowerMs / onlineMs).toBeGreaterThan(0.5 * LIMITS.batchTax);
  expect(lowerMs / onlineMs).toBeLessThan(LIMITS.batchTax + (tier === "flex" ? 0.06 : 0.001));
});

test("a plan that forecasts leave empty has the first sequence in its shortest chunk", () => {
  const rig = new Rig({ ...COSTS, predict: () => Number.NaN });
  rig.add("batch", 3);
  expect([rig.step(), rig.step(), rig.step(), rig.step()]).toEqual(Array(4).fill([["batch", 1]]));
  expect(rig.scheduler.forced).toBe(4);
});

test("the first unstartable sequence is reported, and the next one starts after its end", () => {
  const rig = new Rig(COSTS);
  const place = rig.cache.place.bind(rig.cache);
  rig.cache.place = (sequence, online) => sequence !== first && place(sequence, online);
  const first = rig.add("default", 40);
  rig.add("default", 30);
  expect(rig.scheduler.schedule().unstartable).toBe(first);
  rig.scheduler.end(first);
  expect(rig.step()).toEqual([["default", 30]]);
});
