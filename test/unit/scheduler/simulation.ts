import assert from "node:assert/strict";
import { TIERS, type Tier } from "../../../engine/protocol.ts";
import type { KvCache } from "../../../engine/worker/kv/cache.ts";
import { commonPrefix } from "../../../engine/worker/kv/resident.ts";
import { SplitCache } from "../../../engine/worker/kv/split.ts";
import { UnifiedCache } from "../../../engine/worker/kv/unified.ts";
import type { PlanEntry } from "../../../engine/worker/scheduler/plan.ts";
import { Scheduler } from "../../../engine/worker/scheduler/scheduler.ts";
import { remaining, type Sequence } from "../../../engine/worker/scheduler/sequence.ts";
import { FakeMemory } from "../kv/fake-memory.ts";

export interface Arrival {
  /** The step before which it comes. */
  at: number;
  tier: Tier;
  prompt: number[];
  /** Tokens to generate. */
  goal: number;
  /** The step before which its client leaves. */
  cancelAt: number | null;
}

export interface House {
  kind: "split" | "unified";
  sequences: number;
  ids: number;
  /** Of each id when split, in all when unified. */
  cells: number;
  copyPrice: number;
  reuse: boolean;
  stepTokens: number;
  mixedPrefill: number;
}

class Guest implements Sequence {
  readonly tier: Tier;
  readonly arrival: number;
  readonly tokens: number[];
  readonly plan: Arrival;
  id = -1;
  computed = 0;
  state: Sequence["state"] = "waiting";
  /** Prompt tokens found in the cache at its first start. */
  cached: number | null = null;

  constructor(plan: Arrival, arrival: number) {
    this.plan = plan;
    this.tier = plan.tier;
    this.arrival = arrival;
    this.tokens = [...plan.prompt];
  }

  get generated(): number[] {
    return this.tokens.slice(this.plan.prompt.length);
  }
}

/** The next token is a hash of all before it: a sequence that saw one wrong token would go another way. */
function nextToken(tokens: readonly number[]): number {
  return tokens.reduce((hash, token) => (Math.imul(hash, 31) + token + 7) >>> 0, 1) % 4;
}

export function generateAlone({ prompt, goal }: Arrival): number[] {
  const tokens = [...prompt];
  for (let i = 0; i < goal; i++) tokens.push(nextToken(tokens));
  return tokens.slice(prompt.length);
}

const rank = (sequence: Sequence) => TIERS.indexOf(sequence.tier);
const before = (a: Sequence, b: Sequence) => rank(a) - rank(b) || a.arrival - b.arrival;

/** Drives the scheduler and a cache as the step loop does, over a memory that proves every step. */
export class Simulation {
  readonly house: House;
  readonly memory: FakeMemory;
  readonly cache: KvCache;
  readonly scheduler: Scheduler<Guest>;
  readonly guests: Guest[] = [];
  steps = 0;
  /** Tokens that were computed in chunks: prompts, and what preempted sequences compute again. */
  prefilled = 0;
  preempted = 0;

  constructor(house: House) {
    this.house = house;
    this.memory = new FakeMemory({ kind: house.kind, ids: house.ids, cells: house.cells });
    this.cache =
      house.kind === "split"
        ? new SplitCache(this.memory, { ...house, capacity: house.cells })
        : new UnifiedCache(this.memory, house);
    this.scheduler = new Scheduler<Guest>(this.cache, house);
  }

  /** @throws when an invariant breaks, or when more steps pass than any fair order needs */
  run(arrivals: readonly Arrival[]): void {
    const coming = [...arrivals].sort((a, b) => a.at - b.at);
    const work = arrivals.reduce((sum, { prompt, goal }) => sum + prompt.length + goal, 0);
    const last = coming.at(-1)?.at ?? 0;
    while (coming.length > 0 || this.guests.some((guest) => guest.state !== "ended")) {
      while (coming.length > 0 && coming[0]!.at <= this.steps) this.#arrive(coming.shift()!);
      for (const guest of this.guests)
        if (guest.plan.cancelAt !== null && guest.plan.cancelAt <= this.steps && guest.state !== "ended")
          this.scheduler.end(guest);
      this.step();
      assert.ok(this.steps < last + 3 * work + 10);
    }
  }

  step(): void {
    const ran = this.guests.filter((guest) => guest.state === "running");
    const { entries, started } = this.scheduler.next();
    this.steps++;
    for (const guest of started) guest.cached ??= guest.computed;
    for (const guest of ran) if (guest.state === "waiting") this.preempted++;
    this.#check(entries, started);
    this.memory.decode(entries);
    for (const { sequence, count } of entries) {
      if (remaining(sequence) > 1) this.prefilled += count;
      sequence.computed += count;
    }
    for (const { sequence } of entries) {
      if (remaining(sequence) > 0) continue;
      sequence.tokens.push(nextToken(sequence.tokens));
      if (sequence.generated.length >= sequence.plan.goal) this.scheduler.end(sequence);
    }
  }

  #arrive(plan: Arrival): void {
    const guest = new Guest(plan, this.guests.length);
    this.guests.push(guest);
    this.scheduler.add(guest);
  }

  #check(entries: PlanEntry<Guest>[], started: Guest[]): void {
    const { sequences, stepTokens, ids, kind, reuse, copyPrice } = this.house;
    const running = this.guests.filter((guest) => guest.state === "running").sort(before);
    const waiting = this.guests.filter((guest) => guest.state === "waiting");
    assert.equal(this.scheduler.running, running.length);
    assert.equal(this.scheduler.waiting, waiting.length);
    assert.ok(running.length <= sequences);

    // Progress: someone runs if anyone is there, and something is computed if anyone runs.
    if (running.length + waiting.length > 0) assert.ok(entries.length > 0);
    assert.ok(entries.reduce((sum, { count }) => sum + count, 0) <= stepTokens);
    const planned = new Set(entries.map((entry) => entry.sequence));
    assert.equal(planned.size, entries.length);
    for (const { sequence, count } of entries) {
      assert.equal(sequence.state, "running");
      assert.ok(count >= 1);
      assert.ok(count <= remaining(sequence));
    }
    const plannedIds = entries.map((entry) => entry.sequence.id);
    for (let i = 1; i < plannedIds.length; i++) assert.ok(plannedIds[i]! > plannedIds[i - 1]!);

    const runningIds = running.map((guest) => guest.id).sort((a, b) => a - b);
    assert.equal(new Set(runningIds).size, running.length);
    for (const id of runningIds) assert.ok(id >= 0 && id < ids);
    for (const guest of this.guests) if (guest.state !== "running") assert.equal(guest.id, -1);
    // Passes of llama.cpp take consecutive ids; one alone is in order anywhere.
    if (kind === "split" && reuse && running.length > 1)
      assert.deepEqual(
        runningIds,
        running.map((_, index) => index),
      );

    // No starvation: the oldest prompt of the best tier always gets on, and so does every stream there is room for.
    const oldest = running.find((guest) => remaining(guest) > 1);
    if (oldest !== undefined) assert.ok(planned.has(oldest));
    const streams = running.filter((guest) => remaining(guest) === 1);
    for (const stream of streams.slice(0, stepTokens - 1)) assert.ok(planned.has(stream));

    // First come, first served; only who waits for a prefix lets others by.
    for (const guest of started) {
      if (guest.state !== "running") continue;
      for (const passed of waiting.filter((other) => before(other, guest) < 0)) {
        const awaited = running.some((owner) => {
          const length = commonPrefix(passed.tokens, owner.tokens, passed.tokens.length - 1);
          return rank(owner) <= rank(passed) && length > Math.max(16, copyPrice) && length > owner.computed;
        });
        assert.ok(awaited && reuse);
      }
    }
    // The cache's own count never lags behind what llama.cpp holds.
    assert.ok(this.cache.used >= this.memory.used);
    assert.ok(this.cache.used <= this.cache.cells);
  }
}
