import assert from "node:assert/strict";
import { TIERS } from "../../engine/protocol/request.ts";
import { commonPrefix } from "../../engine/worker/kv/cached-sequence.ts";
import type { KvCache } from "../../engine/worker/kv/kv-cache.ts";
import { chunkable, isDecode, remaining } from "../../engine/worker/scheduler/scheduled-sequence.ts";
import type { Scheduler, Step } from "../../engine/worker/scheduler/scheduler.ts";
import { isOnline } from "../../engine/worker/scheduler/tiers.ts";
import type { FakeMemory } from "./fake-memory.ts";
import { checkIdOrder } from "./id-order.ts";
import type { SimulatedSequence } from "./simulated-sequence.ts";
import type { SimulationSetup } from "./simulation-setup.ts";

/** The parts of a simulation that the invariants read. */
export interface Simulated {
  readonly setup: SimulationSetup;
  readonly memory: FakeMemory;
  readonly cache: KvCache;
  readonly scheduler: Scheduler<SimulatedSequence>;
  readonly sequences: readonly SimulatedSequence[];
}

/** One step, as the checks see it. */
interface CheckedStep extends Step<SimulatedSequence> {
  planned: ReadonlySet<SimulatedSequence>;
  running: SimulatedSequence[];
  waiting: SimulatedSequence[];
  /** Running sequences that a step may compute; of these, online ones, and of these, streams. */
  ready: SimulatedSequence[];
  online: SimulatedSequence[];
  streams: SimulatedSequence[];
  /** The first online sequence with a prompt to compute. */
  oldest: SimulatedSequence | undefined;
  /** Entries that decode. */
  decodes: number;
  /** True when the step is of lower tiers alone although online work is ready. */
  between: boolean;
  /** True when it is between streams and online prompts. */
  lowerStep: boolean;
}

const tierIndex = ({ tier }: SimulatedSequence) => TIERS.indexOf(tier);
const inOrder = (a: SimulatedSequence, b: SimulatedSequence) => tierIndex(a) - tierIndex(b) || a.arrival - b.arrival;

/** Checks what holds of every step, and of consecutive ones. */
export class StepInvariants {
  readonly #simulated: Simulated;
  /** Steps of prompts since the last step with a decode. */
  #promptSteps = 0;
  /** Consecutive steps of lower tiers alone although online work was ready. */
  #betweenSteps = 0;
  /** Whether the last step had streams. */
  #followsStreams = false;
  /** Milliseconds of the last step if it was of lower tiers alone, between streams and online prompts. */
  #lowerMs = 0;
  /** Milliseconds of online time that lower tiers may take by the tax, and have not taken. */
  #savedMs = 0;

  constructor(simulated: Simulated) {
    this.#simulated = simulated;
  }

  /** @throws AssertionError */
  check(scheduled: Step<SimulatedSequence>): void {
    const step = this.#view(scheduled);
    this.#checkEntries(step);
    this.#checkIds(step);
    this.#checkOnlineProgress(step);
    this.#checkCaps(step);
    this.#checkAdmission(step);
    // The cache's own count never lags behind llama.cpp's.
    const { cache, memory } = this.#simulated;
    assert.ok(cache.used >= memory.used);
    assert.ok(cache.used <= cache.cells);
  }

  #view(step: Step<SimulatedSequence>): CheckedStep {
    const { sequences } = this.#simulated;
    const running = sequences.filter(({ state }) => state === "running").sort(inOrder);
    const waiting = sequences.filter(({ state }) => state === "waiting");
    const ready = running.filter((sequence) => sequence.ready());
    const online = ready.filter(isOnline);
    const streams = online.filter(isDecode);
    const oldest = online.find((sequence) => remaining(sequence) > 1);
    const planned = new Set(step.entries.map(({ sequence }) => sequence));
    const decodes = [...planned].filter(isDecode).length;
    const between = online.length > 0 && ![...planned].some(isOnline);
    const lowerStep = between && oldest !== undefined && streams.length > 0;
    return { ...step, planned, running, waiting, ready, online, streams, oldest, decodes, between, lowerStep };
  }

  /** Progress: a sequence runs if any exists, and one is computed if any that runs is ready. */
  #checkEntries({ entries, planned, running, waiting, ready, unstartable }: CheckedStep): void {
    const { scheduler, setup } = this.#simulated;
    assert.equal(scheduler.running, running.length);
    assert.equal(scheduler.waiting, waiting.length);
    assert.ok(running.length <= setup.sequences);
    if (waiting.length > 0) assert.ok(running.length > 0);
    if (ready.length > 0) assert.ok(entries.length > 0);
    assert.equal(scheduler.forced, 0);
    assert.equal(unstartable, null);
    assert.ok(entries.reduce((sum, { count }) => sum + count, 0) <= setup.stepTokens);
    assert.equal(planned.size, entries.length);
    for (const { sequence, count } of entries) {
      assert.ok(ready.includes(sequence));
      assert.ok(count >= 1);
      assert.ok(count <= remaining(sequence));
    }
  }

  /** Whether a step has decodes or prompts, not both. */
  get #oneKind(): boolean {
    const { setup, sequences } = this.#simulated;
    const online = sequences.some((sequence) => sequence.state === "running" && isOnline(sequence));
    return setup.kind === "split" || (online && (setup.passes ?? "mixed") !== "mixed");
  }

  #checkIds({ entries, running }: CheckedStep): void {
    const { setup, sequences } = this.#simulated;
    const plannedIds = entries.map(({ sequence }) => sequence.id);
    for (let i = 1; i < plannedIds.length; i++) assert.ok(plannedIds[i]! > plannedIds[i - 1]!);
    assert.equal(new Set(running.map(({ id }) => id)).size, running.length);
    for (const { id } of running) assert.ok(id >= 0 && id < setup.ids);
    for (const { id, state } of sequences) if (state !== "running") assert.equal(id, -1);
    if (setup.kind === "split" && setup.reuse === "parts") checkIdOrder(entries, running, setup.ids);
  }

  /**
   * No starvation: the oldest online prompt makes progress in every step, and so does every online stream that has room; in a
   * split cache in alternate steps.
   */
  #checkOnlineProgress(step: CheckedStep): void {
    const { entries, planned, waiting, online, streams, oldest, decodes, between, lowerStep } = step;
    const { stepTokens } = this.#simulated.setup;
    if (this.#oneKind) assert.ok(decodes === 0 || decodes === entries.length);
    const alternates = this.#oneKind && oldest !== undefined && streams.length > 0;
    if (alternates && decodes > 0 && !between) assert.ok(this.#promptSteps > 0);
    if (alternates && decodes === 0 && !between) assert.ok(this.#promptSteps < 1);
    // A step of lower tiers beside both follows one of streams, and never precedes an online request's first step.
    if (lowerStep)
      assert.ok(this.#followsStreams && online.every(({ begun }) => begun) && !waiting.some((one) => isOnline(one)));
    if (oldest !== undefined && between && !lowerStep)
      assert.ok(entries.every(({ sequence }) => sequence.tier === "flex"));
    if (oldest !== undefined && !(alternates && decodes > 0) && !between) assert.ok(planned.has(oldest));
    if (!(alternates && decodes === 0) && !between)
      for (const stream of streams.slice(0, stepTokens - 1)) assert.ok(planned.has(stream));
    this.#betweenSteps = between ? this.#betweenSteps + 1 : 0;
    if (entries.length > 0 && !lowerStep) this.#promptSteps = decodes > 0 ? 0 : this.#promptSteps + 1;
  }

  /** The caps hold, except for the saved tax, and for a flex sequence that was skipped for long. */
  #checkCaps(step: CheckedStep): void {
    const { entries, planned, ready, online, streams, oldest, decodes, between, lowerStep, predictedMs, onlineMs } =
      step;
    const { stepTokens, itlMs, batchTax, batchStepMs } = this.#simulated.setup;
    const lower = entries.filter(({ sequence }) => !isOnline(sequence));
    const overdue = lower.length === 1 && lower[0]!.sequence.tier === "flex" && lower[0]!.count <= 16;
    assert.ok(this.#betweenSteps <= (overdue ? 2 : 1));
    const streamsMs = streams.length === 0 ? 0 : 5 + streams.length;
    // With a chunk of online prompts, in the same step or in one of its own.
    const withChunkMs = (count: number) => streamsMs + (this.#oneKind ? 5 : 0) + Math.min(count, stepTokens);
    const restMs = lowerStep ? withChunkMs(Math.min(16, chunkable(oldest!))) : streamsMs;
    const gapMs = between ? restMs + predictedMs : predictedMs;
    if (online.length > 0) {
      this.#savedMs += onlineMs * (1 + batchTax) - (overdue ? onlineMs : predictedMs);
      assert.ok(this.#savedMs >= -1e-9);
      if (lower.length > 0 && !overdue && Math.max(onlineMs, restMs) <= itlMs) assert.ok(gapMs <= itlMs);
      if (lower.length > 1 && onlineMs > 0) assert.ok(predictedMs <= onlineMs * (1 + batchTax) + 1e-9);
    }
    // The objective bounds the chunk, thrice as long beside a crowd; after a step of lower tiers it is shorter by that.
    const prompts = online.length - streams.length;
    if (streams.length > 0 && oldest !== undefined && planned.has(oldest)) {
      const onceMs = this.#lowerMs + onlineMs + (this.#oneKind ? streamsMs : 0);
      const usualMs = Math.max(itlMs, 2 * streamsMs);
      const cycles = prompts * streamsMs > usualMs ? 3 : 1;
      assert.ok(onceMs <= Math.max(cycles * usualMs, this.#lowerMs + withChunkMs(16)) + 1e-9);
    }
    this.#lowerMs = lowerStep ? predictedMs : 0;
    this.#followsStreams = [...planned].some((sequence) => isOnline(sequence) && isDecode(sequence));
    for (const sequence of planned) sequence.begun = true;
    if (onlineMs > 0 || lower.length === 0) return;
    // The cheapest step of the tier that is first: flex, or batch that was skipped for long.
    const cheapest = Math.max(
      ...lower.map(({ sequence: { tier } }) => {
        const ofKind = (peer: SimulatedSequence) => !this.#oneKind || isDecode(peer) === decodes > 0;
        const peers = ready.filter((peer) => peer.tier === tier && ofKind(peer));
        const prompt = peers.find((peer) => !isDecode(peer));
        const isChunk = prompt !== undefined && (tier === "batch" || !peers.some(isDecode));
        return 5 + (isChunk ? Math.min(16, chunkable(prompt), stepTokens) : 1);
      }),
    );
    assert.ok(predictedMs <= Math.max(batchStepMs ?? (cheapest <= 25 ? 25 : 2 * cheapest), cheapest));
  }

  #checkAdmission({ started, running, waiting }: CheckedStep): void {
    const { kind, sequences, reserved, copyPrice } = this.#simulated.setup;
    // One owner's sequences start by arrival; one is passed over only while it waits for a prefix.
    for (const sequence of started) {
      if (sequence.state !== "running") continue;
      for (const passed of waiting.filter((other) => inOrder(other, sequence) < 0)) {
        if (passed.owner !== sequence.owner) continue;
        // Flex leaves batch its share.
        if (passed.tier === "flex" && sequence.tier === "batch") continue;
        const awaited = running.some((other) => {
          const length = commonPrefix(passed.tokens, other.tokens, passed.tokens.length - 1);
          const isAhead = other.scope === passed.scope && tierIndex(other) <= tierIndex(passed);
          return isAhead && length > Math.max(16, copyPrice) && length > other.computed;
        });
        assert.ok(awaited);
      }
    }
    // Online work never waits for a lower tier, and lower tiers leave their reserve free.
    const first = waiting.sort(inOrder)[0];
    const lower = running.filter((sequence) => !isOnline(sequence)).length;
    const full = kind === "split" && running.length === sequences;
    if (first !== undefined && isOnline(first) && full && lower > 0) {
      const shares = (other: SimulatedSequence) =>
        other.scope === first.scope && commonPrefix(first.tokens, other.tokens, first.tokens.length - 1) > 16;
      assert.ok(running.some(shares));
    }
    assert.ok(lower <= sequences - reserved);
  }
}
