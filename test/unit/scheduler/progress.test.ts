import { expect, test } from "vitest";
import type { Tier } from "../../../engine/protocol/request.ts";
import type { KvMemory } from "../../../engine/worker/kv/cache.ts";
import { SplitCache } from "../../../engine/worker/kv/split.ts";
import { Scheduler } from "../../../engine/worker/scheduler/scheduler.ts";
import { remaining, type Sequence } from "../../../engine/worker/scheduler/sequence.ts";
import type { StepCosts } from "../../../engine/worker/scheduler/step-model.ts";
import { hostMemory } from "../kv/fake-memory.ts";
import { LIMITS } from "./plan-rig.ts";
import { COSTS } from "./simulation.ts";

const NO_MEMORY: KvMemory = { remove: () => {}, copy: () => {}, save: () => null, load: () => false };

/** A scheduler over a split cache; whoever comes has a prompt like nobody else's, and goes on without end. */
class Rig {
  readonly cache = new SplitCache(NO_MEMORY, hostMemory(0), {
    ids: 4,
    capacity: 100_000,
    copyPrice: 32,
    reserved: 1,
    reuse: true,
  });
  readonly scheduler: Scheduler<Sequence>;
  #arrivals = 0;

  constructor(costs: StepCosts) {
    this.scheduler = new Scheduler(this.cache, { ...LIMITS, sequences: 4, reserved: 1, reuse: true }, costs);
  }

  add(tier: Tier, prompt: number): Sequence {
    const arrival = this.#arrivals++;
    const tokens = Array.from({ length: prompt }, (_, i) => (i === 0 ? arrival : i));
    const sequence: Sequence = { id: -1, tier, owner: "", scope: "", arrival, tokens, computed: 0, state: "waiting" };
    this.scheduler.add(sequence);
    return sequence;
  }

  /** @returns who got how many tokens */
  step(): [Tier, number][] {
    const { entries } = this.scheduler.next();
    for (const { sequence, count } of entries) {
      sequence.computed += count;
      if (remaining(sequence) === 0) sequence.tokens.push(1);
    }
    return entries.map(({ sequence, count }) => [sequence.tier, count]);
  }
}

test("a flex request may leave in any step: what else runs goes on", () => {
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

test("a plan that the forecasts leave empty is made without them: the first goes on, in the shortest chunk", () => {
  const rig = new Rig({ ...COSTS, predict: () => Number.NaN });
  rig.add("batch", 40);
  expect([rig.step(), rig.step(), rig.step(), rig.step()]).toEqual([
    [["batch", 16]],
    [["batch", 16]],
    [["batch", 8]],
    [["batch", 1]],
  ]);
  expect(rig.scheduler.forced).toBe(3);
});

test("of those who wait where nothing can start the first is named, and once it has left the next one starts", () => {
  const rig = new Rig(COSTS);
  const place = rig.cache.place.bind(rig.cache);
  rig.cache.place = (sequence, online) => sequence !== first && place(sequence, online);
  const first = rig.add("default", 40);
  rig.add("default", 30);
  expect(rig.scheduler.next().unstartable).toBe(first);
  rig.scheduler.end(first);
  expect(rig.step()).toEqual([["default", 30]]);
});
