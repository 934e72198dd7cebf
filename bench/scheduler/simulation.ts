import assert from "node:assert/strict";
import { TIERS, type Tier } from "../../engine/protocol/request.ts";
import type { StepShape } from "../../engine/worker/cost/step-model.ts";
import { commonPrefix } from "../../engine/worker/kv/cached-sequence.ts";
import type { KvCache } from "../../engine/worker/kv/kv-cache.ts";
import { SplitCache } from "../../engine/worker/kv/split-cache.ts";
import { UnifiedCache } from "../../engine/worker/kv/unified-cache.ts";
import { isDecode, remaining, type Sequence } from "../../engine/worker/scheduler/scheduled-sequence.ts";
import { Scheduler, type Step } from "../../engine/worker/scheduler/scheduler.ts";
import { isOnline } from "../../engine/worker/scheduler/tiers.ts";
import { FakeMemory, hostMemory } from "./fake-memory.ts";

export interface Arrival {
  /** The step before which it comes. */
  at: number;
  tier: Tier;
  /** "" where none is given. */
  scope?: string;
  /** Without one all are of the same. */
  owner?: string;
  prompt: number[];
  /** Tokens to generate. */
  goal: number;
  /** The step before which its client leaves. */
  cancelAt: number | null;
  /** Steps from its first start until it is ready; none where it is not given. */
  lag?: number;
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
  /** Sequences (and of a unified cache an eighth of the cells) that lower tiers leave free. */
  reserved: number;
  itlMs: number;
  batchTax: number;
  batchStepMs: number | null;
  /** Tokens that host memory has room for; none where it is not given. */
  parking?: number;
}

/** A step of this machine costs 5 ms, and 1 ms a token. */
export const COSTS = {
  predict: ({ prefill, decode }: StepShape) => 5 + prefill + decode,
  reach: { prefill: Number.POSITIVE_INFINITY, decode: Number.POSITIVE_INFINITY },
};

class Guest implements Sequence {
  readonly tier: Tier;
  readonly owner: string;
  readonly arrival: number;
  readonly tokens: number[];
  readonly plan: Arrival;
  readonly scope: string;
  id = -1;
  computed = 0;
  state: Sequence["state"] = "waiting";
  /** Prompt tokens found in the cache at its first start. */
  cached: number | null = null;
  /** Whether a step had it. */
  begun = false;
  readonly #step: () => number;
  #readyAt: number | null = null;

  /** @param step the step that is planned */
  constructor(plan: Arrival, arrival: number, step: () => number) {
    this.plan = plan;
    this.#step = step;
    this.tier = plan.tier;
    this.scope = plan.scope ?? "";
    this.owner = plan.owner ?? "local";
    this.arrival = arrival;
    this.tokens = [...plan.prompt];
  }

  ready(): boolean {
    this.#readyAt ??= this.#step() + (this.plan.lag ?? 0);
    return this.#step() >= this.#readyAt;
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
  /** In the order in which they generated all they should. */
  readonly ended: Guest[] = [];
  steps = 0;
  /** Tokens that were computed in chunks: prompts, and what preempted sequences compute again. */
  prefilled = 0;
  preempted = 0;
  /** Steps of prompts since the last with a decode. */
  #prompts = 0;
  /** Steps in a row that had lower tiers alone although online work ran. */
  #between = 0;
  /** Whether the last step had streams. */
  #followsStreams = false;
  /** What the last step took if it had lower tiers alone although streams and online prompts ran. */
  #turnMs = 0;
  /** What lower tiers may take of online time by the tax, and what they have not taken. */
  #untaken = 0;

  constructor(house: House) {
    this.house = house;
    this.memory = new FakeMemory({ kind: house.kind, ids: house.ids, cells: house.cells });
    const host = hostMemory(house.parking ?? 0);
    this.cache =
      house.kind === "split"
        ? new SplitCache(this.memory, host, { ...house, capacity: house.cells })
        : new UnifiedCache(this.memory, host, { ...house, reserved: house.reserved && house.cells >> 3 });
    this.scheduler = new Scheduler<Guest>(this.cache, { ...house, ttftMs: 500, mostStepMs: 10_000 }, COSTS);
  }

  /** @throws when an invariant breaks, or when more steps pass than any fair order needs */
  run(arrivals: readonly Arrival[], after: () => void = () => {}): void {
    const coming = [...arrivals].sort((a, b) => a.at - b.at);
    const work = arrivals.reduce((sum, { prompt, goal }) => sum + prompt.length + goal, 0);
    const lag = arrivals.reduce((sum, arrival) => sum + (arrival.lag ?? 0), 0);
    const last = coming.at(-1)?.at ?? 0;
    while (coming.length > 0 || this.guests.some((guest) => guest.state !== "ended")) {
      while (coming.length > 0 && coming[0]!.at <= this.steps) this.#arrive(coming.shift()!);
      for (const guest of this.guests)
        if (guest.plan.cancelAt !== null && guest.plan.cancelAt <= this.steps && guest.state !== "ended")
          this.scheduler.end(guest);
      this.step();
      after();
      assert.ok(this.steps < last + lag + 3 * work + 10);
    }
  }

  step(): void {
    const ran = this.guests.filter((guest) => guest.state === "running");
    const step = this.scheduler.schedule();
    const { entries, started } = step;
    for (const guest of started) guest.cached ??= guest.computed;
    for (const guest of ran) if (guest.state === "waiting") this.preempted++;
    this.#check(step);
    this.steps++;
    this.memory.decode(entries);
    for (const { sequence, count } of entries) {
      if (remaining(sequence) > 1) this.prefilled += count;
      sequence.computed += count;
    }
    for (const { sequence } of entries) {
      if (remaining(sequence) > 0) continue;
      sequence.tokens.push(nextToken(sequence.tokens));
      if (sequence.generated.length < sequence.plan.goal) continue;
      this.scheduler.end(sequence);
      this.ended.push(sequence);
    }
  }

  #arrive(plan: Arrival): void {
    const guest = new Guest(plan, this.guests.length, () => this.steps);
    this.guests.push(guest);
    this.scheduler.add(guest);
  }

  #check({ entries, started, unstartable, predictedMs, onlineMs }: Step<Guest>): void {
    const { sequences, stepTokens, ids, kind, reuse, copyPrice, itlMs, batchTax, reserved } = this.house;
    const running = this.guests.filter((guest) => guest.state === "running").sort(before);
    const waiting = this.guests.filter((guest) => guest.state === "waiting");
    assert.equal(this.scheduler.running, running.length);
    assert.equal(this.scheduler.waiting, waiting.length);
    assert.ok(running.length <= sequences);

    // Progress: someone runs if anyone is there, and something is computed if anyone that is ready runs.
    const ready = running.filter((guest) => guest.ready());
    if (waiting.length > 0) assert.ok(running.length > 0);
    if (ready.length > 0) assert.ok(entries.length > 0);
    assert.equal(this.scheduler.forced, 0);
    assert.equal(unstartable, null);
    assert.ok(entries.reduce((sum, { count }) => sum + count, 0) <= stepTokens);
    const planned = new Set(entries.map((entry) => entry.sequence));
    assert.equal(planned.size, entries.length);
    for (const { sequence, count } of entries) {
      assert.ok(ready.includes(sequence));
      assert.ok(count >= 1);
      assert.ok(count <= remaining(sequence));
    }
    const plannedIds = entries.map((entry) => entry.sequence.id);
    for (let i = 1; i < plannedIds.length; i++) assert.ok(plannedIds[i]! > plannedIds[i - 1]!);

    const runningIds = running.map((guest) => guest.id).sort((a, b) => a - b);
    assert.equal(new Set(runningIds).size, running.length);
    for (const id of runningIds) assert.ok(id >= 0 && id < ids);
    for (const guest of this.guests) if (guest.state !== "running") assert.equal(guest.id, -1);
    this.#checkOrder(entries, running);

    // No starvation: the oldest online prompt always gets on, and so does every online stream there is room for; in a
    // split cache by turns.
    const online = ready.filter(isOnline);
    const oldest = online.find((guest) => remaining(guest) > 1);
    const streams = online.filter(isDecode);
    const decodes = entries.filter(({ sequence }) => isDecode(sequence)).length;
    if (kind === "split") assert.ok(decodes === 0 || decodes === entries.length);
    const turns = kind === "split" && oldest !== undefined && streams.length > 0;
    const between = online.length > 0 && entries.every(({ sequence }) => !isOnline(sequence));
    if (turns && decodes > 0 && !between) assert.ok(this.#prompts > 0);
    // More than one step of prompts in a row only while they outnumber the streams.
    const prompts = online.length - streams.length;
    if (turns && decodes === 0 && !between) assert.ok(this.#prompts < (prompts > streams.length ? 4 : 1));
    // Beside both, lower tiers have a step after one of streams, and never before an online request's first.
    const lowerTurn = between && oldest !== undefined && streams.length > 0;
    if (lowerTurn) assert.ok(this.#followsStreams && online.every(({ begun }) => begun) && !waiting.some(isOnline));
    if (oldest !== undefined && between && !lowerTurn)
      assert.ok(entries.every(({ sequence }) => sequence.tier === "flex"));
    if (oldest !== undefined && !(turns && decodes > 0) && !between) assert.ok(planned.has(oldest));
    if (!(turns && decodes === 0) && !between)
      for (const stream of streams.slice(0, stepTokens - 1)) assert.ok(planned.has(stream));
    this.#between = between ? this.#between + 1 : 0;
    if (entries.length > 0 && !lowerTurn) this.#prompts = decodes > 0 ? 0 : this.#prompts + 1;

    // The cap, but for what was saved of the tax, and for a flex sequence that has waited for long.
    const lower = entries.filter(({ sequence }) => !isOnline(sequence));
    const overdue = lower.length === 1 && lower[0]!.sequence.tier === "flex" && lower[0]!.count <= 16;
    assert.ok(this.#between <= (overdue ? 2 : 1));
    const streamsMs = streams.length === 0 ? 0 : 5 + streams.length;
    // With a chunk of online prompts, in the same step or in one of its own.
    const withChunkMs = (count: number) => streamsMs + (kind === "split" ? 5 : 0) + Math.min(count, stepTokens);
    const restMs = lowerTurn ? withChunkMs(Math.min(16, remaining(oldest))) : streamsMs;
    const gapMs = between ? restMs + predictedMs : predictedMs;
    if (online.length > 0) {
      this.#untaken += onlineMs * (1 + batchTax) - (overdue ? onlineMs : predictedMs);
      assert.ok(this.#untaken >= -1e-9);
      if (lower.length > 0 && !overdue && Math.max(onlineMs, restMs) <= itlMs) assert.ok(gapMs <= itlMs);
      if (lower.length > 1 && onlineMs > 0) assert.ok(predictedMs <= onlineMs * (1 + batchTax) + 1e-9);
    }
    // The chunk after a turn of lower tiers is shorter by it, where the objective bounds it.
    const bounded = streams.length > 0 && prompts <= Math.max(1, streams.length / 2);
    if (this.#turnMs > 0 && bounded && oldest !== undefined && planned.has(oldest)) {
      const onceMs = this.#turnMs + onlineMs + (kind === "split" ? streamsMs : 0);
      assert.ok(onceMs <= Math.max(itlMs, 2 * streamsMs, this.#turnMs + withChunkMs(16)) + 1e-9);
    }
    this.#turnMs = lowerTurn ? predictedMs : 0;
    this.#followsStreams = entries.some(({ sequence }) => isOnline(sequence) && isDecode(sequence));
    for (const { sequence } of entries) sequence.begun = true;
    if (onlineMs === 0 && lower.length > 0) {
      // Of the tier that came first: it is flex, but for batch that was left out for long.
      const cheapest = Math.max(
        ...lower.map(({ sequence }) => {
          const peers = ready.filter(
            (peer) => peer.tier === sequence.tier && (kind === "unified" || isDecode(peer) === decodes > 0),
          );
          return 5 + (peers.some(isDecode) ? 1 : Math.min(16, remaining(peers[0]!), stepTokens));
        }),
      );
      assert.ok(predictedMs <= Math.max(this.house.batchStepMs ?? (cheapest <= 25 ? 25 : 2 * cheapest), cheapest));
    }

    // Of one owner first come, first served; only who waits for a prefix lets others by.
    for (const guest of started) {
      if (guest.state !== "running") continue;
      for (const passed of waiting.filter((other) => before(other, guest) < 0)) {
        if (passed.owner !== guest.owner) continue;
        // Flex leaves some places to batch.
        if (passed.tier === "flex" && guest.tier === "batch") continue;
        const awaited = running.some((owner) => {
          const length = commonPrefix(passed.tokens, owner.tokens, passed.tokens.length - 1);
          return (
            owner.scope === passed.scope &&
            rank(owner) <= rank(passed) &&
            length > Math.max(16, copyPrice) &&
            length > owner.computed
          );
        });
        assert.ok(awaited && reuse);
      }
    }
    // Online never waits for the place of a lower tier, and lower tiers leave some free.
    const first = waiting.sort(before)[0];
    const lowerRunning = running.filter((guest) => !isOnline(guest)).length;
    const full = kind === "split" && running.length === sequences;
    if (first !== undefined && isOnline(first) && full && lowerRunning > 0)
      assert.ok(
        reuse &&
          running.some(
            (owner) =>
              owner.scope === first.scope && commonPrefix(first.tokens, owner.tokens, first.tokens.length - 1) > 16,
          ),
      );
    assert.ok(lowerRunning <= sequences - reserved);
    // The cache's own count never lags behind what llama.cpp holds.
    assert.ok(this.cache.used >= this.memory.used);
    assert.ok(this.cache.used <= this.cache.cells);
  }

  /** Passes of llama.cpp take ascending consecutive ids; one alone is in order anywhere. */
  #checkOrder(entries: Step<Guest>["entries"], running: Guest[]): void {
    const { kind, reuse, ids } = this.house;
    if (kind === "unified" || !reuse) return;
    // One that is not ready has its id all the same, and those beside it are no run.
    if (!running.every((guest) => guest.ready())) return;
    const idsOf = (guests: Guest[]) => guests.map((guest) => guest.id).sort((a, b) => a - b);
    const from = (first: number, count: number) => Array.from({ length: count }, (_, i) => first + i);
    const online = running.filter(isOnline);
    const streams = entries.map((entry) => entry.sequence).filter((guest) => isOnline(guest) && isDecode(guest));
    if (streams.length > 1 && running.length < ids) assert.deepEqual(idsOf(streams), from(0, streams.length));
    const riders = entries.map((entry) => entry.sequence).filter((guest) => !isOnline(guest) && isDecode(guest));
    if (riders.length === 0 || streams.length + riders.length < 2 || running.length === ids) return;
    if (streams.length > 0) {
      assert.deepEqual(idsOf(riders), from(online.length, riders.length));
      return;
    }
    // Alone they are side by side but for others who run there.
    const taken = new Set(running.map((guest) => guest.id));
    const besides = idsOf(riders).some((_, i, all) =>
      [...all.keys()].some((back) => from(all[i]! - back, all.length).every((id) => taken.has(id))),
    );
    assert.ok(besides);
  }
}
