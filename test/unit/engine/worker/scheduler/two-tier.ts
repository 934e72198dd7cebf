import { hostMemory } from "../../../../../bench/scheduler/fake-memory.ts";
import type { Tier } from "../../../../../engine/protocol/request.ts";
import { type Fit, StepModel, type StepShape } from "../../../../../engine/worker/cost/step-model.ts";
import type { KvCache } from "../../../../../engine/worker/kv/kv-cache.ts";
import type { KvMemory } from "../../../../../engine/worker/kv/kv-memory.ts";
import { SplitCache } from "../../../../../engine/worker/kv/split-cache.ts";
import { UnifiedCache } from "../../../../../engine/worker/kv/unified-cache.ts";
import { DecodePasses } from "../../../../../engine/worker/scheduler/decode-passes.ts";
import { remaining, type Sequence } from "../../../../../engine/worker/scheduler/scheduled-sequence.ts";
import { Scheduler, type Step } from "../../../../../engine/worker/scheduler/scheduler.ts";
import { isOnline } from "../../../../../engine/worker/scheduler/tiers.ts";

/** A machine whose steps cost about as much as its fit predicts; the step model has to learn the fit. */
export interface Machine {
  fit: Fit;
  /** Uniform noise, in both directions. */
  noise: number;
}

export interface TwoTierSetup {
  kind: "split" | "unified";
  machine: Machine;
  sequences: number;
  /** Of each id when split, in all when unified. */
  cells: number;
  itlMs: number;
  batchTax: number;
  batchStepMs: number;
  seed: number;
}

export interface Arrival {
  tier: Tier;
  /** Arrival in milliseconds. */
  at: number;
  /** Tokens of the prompt, and of the answer. */
  prompt: number;
  goal: number;
}

/** Source of the requests. */
export interface Arrivals {
  /** Requests that arrived until now and were not returned before. */
  due(now: number, waiting: (tier: Tier) => number): Arrival[];
  /** The time of the next scheduled arrival; infinity without one. */
  readonly nextAt: number;
}

export class TimedSequence implements Sequence {
  readonly tier: Tier;
  readonly owner = "local";
  readonly arrival: number;
  readonly tokens: number[];
  readonly arrivedAt: number;
  readonly goal: number;
  readonly scope = "";
  id = -1;
  computed = 0;
  state: Sequence["state"] = "waiting";
  /** Milliseconds from its arrival to its first step. */
  waited: number | null = null;
  /** The time of its last token. */
  lastTokenAt: number | null = null;
  /** The time of its end. */
  ended: number | null = null;
  /** Steps of lower tiers alone that it waited for, including the one that computed at its arrival. */
  behindLower = 0;

  readonly #prompt: number;

  get answer() {
    return { written: this.tokens.length - this.#prompt, left: this.goal - this.tokens.length };
  }

  constructor(tier: Tier, arrival: number, arrivedAt: number, prompt: number, goal: number) {
    this.#prompt = prompt;
    this.tier = tier;
    this.arrival = arrival;
    this.arrivedAt = arrivedAt;
    // There is no common prefix to wait for.
    this.tokens = Array.from({ length: prompt }, (_, i) => (i === 0 ? arrival : i));
    this.goal = prompt + goal;
  }
}

/** One step that was computed. */
export interface ComputedStep {
  step: Step<TimedSequence>;
  /** Milliseconds on the machine: of the step, of the step without noise, and of its online part alone. */
  took: number;
  exact: number;
  onlineExact: number;
  /** Whether an online sequence runs, in the step or not. */
  onlineRuns: boolean;
}

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

/** Drives the scheduler on a clock of its own, with a step model that has to learn the machine. */
export class TwoTiers {
  readonly setup: TwoTierSetup;
  readonly cache: KvCache;
  readonly model = new StepModel();
  readonly scheduler: Scheduler<TimedSequence>;
  readonly sequences: TimedSequence[] = [];
  readonly live = new Set<TimedSequence>();
  now = 0;
  /** Milliseconds between two tokens of online streams. */
  readonly gaps: number[] = [];
  readonly #arrivals: Arrivals;
  readonly #noise: () => number;
  /** Whether the current step is of lower tiers alone. */
  #lowerAlone = false;

  constructor(setup: TwoTierSetup, arrivals: Arrivals) {
    this.setup = setup;
    this.#arrivals = arrivals;
    this.#noise = uniform(setup.seed + 2);
    const { kind, sequences, cells } = setup;
    const reserved = Math.max(1, sequences >> 3);
    this.cache =
      kind === "split"
        ? new SplitCache(NO_MEMORY, hostMemory(0), {
            ids: sequences,
            capacity: cells,
            copyPrice: 32,
            reserved,
            reuse: "parts",
          })
        : new UnifiedCache(NO_MEMORY, hostMemory(0), {
            ids: 2 * sequences,
            cells,
            reserved: cells >> 3,
            reuse: "parts",
          });
    const limits = { stepTokens: 512, ttftMs: 500, mostStepMs: 30_000, ...setup };
    this.scheduler = new Scheduler<TimedSequence>(this.cache, { ...limits, reserved, reuse: "parts" }, this.model);
  }

  /** Runs until all requests have ended. */
  run(observe: (computed: ComputedStep) => void): void {
    for (;;) {
      this.#arrive();
      if (this.live.size === 0 && this.#arrivals.nextAt === Number.POSITIVE_INFINITY) return;
      const step = this.scheduler.schedule();
      if (step.entries.length === 0) {
        if (this.live.size > 0) throw new Error("Requests wait, and the step is empty.");
        this.now = this.#arrivals.nextAt;
        this.#lowerAlone = false;
      } else {
        observe(this.#compute(step));
      }
    }
  }

  #arrive(): void {
    const waiting = (tier: Tier) =>
      [...this.live].filter((sequence) => sequence.tier === tier && sequence.state === "waiting").length;
    for (const { tier, at, prompt, goal } of this.#arrivals.due(this.now, waiting)) {
      const sequence = new TimedSequence(tier, this.sequences.length, at, prompt, goal);
      if (isOnline(sequence) && this.#lowerAlone) sequence.behindLower = 1;
      this.sequences.push(sequence);
      this.live.add(sequence);
      this.scheduler.add(sequence);
    }
  }

  #compute(step: Step<TimedSequence>): ComputedStep {
    const { noise } = this.setup.machine;
    const online = step.entries.filter(({ sequence }) => isOnline(sequence));
    const exact = this.#cost(step.entries);
    const computed = {
      step,
      took: exact * (1 - noise + 2 * noise * this.#noise()),
      exact,
      onlineExact: this.#cost(online),
      onlineRuns: [...this.live].some((sequence) => isOnline(sequence) && sequence.state === "running"),
    };
    this.#lowerAlone = online.length === 0;
    for (const { sequence, count } of step.entries) {
      sequence.waited ??= this.now - sequence.arrivedAt;
      sequence.computed += count;
    }
    if (this.#lowerAlone) for (const sequence of this.live) if (sequence.waited === null) sequence.behindLower++;
    this.now += computed.took;
    this.model.observe(step.shape, computed.took);
    this.scheduler.measured(step, computed.took);
    for (const { sequence } of step.entries) {
      if (remaining(sequence) > 0) continue;
      if (isOnline(sequence)) {
        if (sequence.lastTokenAt !== null) this.gaps.push(this.now - sequence.lastTokenAt);
        sequence.lastTokenAt = this.now;
      }
      sequence.tokens.push(1);
      if (sequence.tokens.length < sequence.goal) continue;
      this.scheduler.end(sequence);
      sequence.ended = this.now;
      this.live.delete(sequence);
    }
    return computed;
  }

  /** The machine's milliseconds for a part of a step. */
  #cost(entries: Step<TimedSequence>["entries"]): number {
    if (entries.length === 0) return 0;
    const { fit } = this.setup.machine;
    const split = this.setup.kind === "split" ? new DecodePasses("consecutive") : null;
    const attended = this.cache.attention();
    const shape: StepShape = { prefill: 0, decode: 0, kv: 0, read: 0, passes: 1 };
    for (const { sequence, count } of entries) {
      const next = remaining(sequence) === 1;
      shape[next ? "decode" : "prefill"] += count;
      shape[next ? "kv" : "read"] += attended(sequence, count, shape.prefill + shape.decode - count);
      shape.passes = split?.with(sequence, count) ?? 1;
      split?.add(sequence, count);
    }
    const { prefill, decode, kv, read, passes } = shape;
    return fit.o + fit.p * prefill + fit.d * decode + fit.k * kv + fit.r * read + fit.m * (passes - 1);
  }
}

/** Online requests at random instants; lower tiers always wait until the last of these has arrived. */
export class Saturation implements Arrivals {
  nextAt: number;
  readonly #gapMs: number;
  readonly #backlog: Partial<Record<"flex" | "batch", number>>;
  /** Online arrivals are independent of the other load. */
  readonly #onlineDraw: () => number;
  readonly #otherDraw: () => number;
  #left: number;

  /** @param gapMs mean milliseconds between two of `online` requests */
  constructor(online: number, gapMs: number, backlog: Partial<Record<"flex" | "batch", number>>, seed: number) {
    this.#left = online;
    this.#gapMs = gapMs;
    this.#backlog = backlog;
    this.#onlineDraw = uniform(seed);
    this.#otherDraw = uniform(seed + 1);
    this.nextAt = this.#gap();
  }

  due(now: number, waiting: (tier: Tier) => number): Arrival[] {
    const arrivals: Arrival[] = [];
    while (this.nextAt <= now) {
      arrivals.push(this.#arrival(this.#onlineDraw() < 0.1 ? "priority" : "default", this.nextAt));
      this.#left--;
      this.nextAt = this.#left > 0 ? this.nextAt + this.#gap() : Number.POSITIVE_INFINITY;
    }
    if (this.#left === 0) return arrivals;
    for (const tier of ["flex", "batch"] as const) {
      for (let waits = waiting(tier); waits < (this.#backlog[tier] ?? 0); waits++)
        arrivals.push(this.#arrival(tier, now));
    }
    return arrivals;
  }

  #arrival(tier: Tier, at: number): Arrival {
    const draw = tier === "flex" || tier === "batch" ? this.#otherDraw : this.#onlineDraw;
    return { tier, at, prompt: 8 + Math.floor(240 * draw() ** 2), goal: 1 + Math.floor(60 * draw()) };
  }

  #gap(): number {
    return -Math.log(1 - this.#onlineDraw()) * this.#gapMs;
  }
}

/** Requests with fixed arrival times, in their order. */
export class Schedule implements Arrivals {
  readonly #arrivals: readonly Arrival[];
  #next = 0;

  constructor(arrivals: readonly Arrival[]) {
    this.#arrivals = arrivals;
  }

  get nextAt(): number {
    return this.#arrivals[this.#next]?.at ?? Number.POSITIVE_INFINITY;
  }

  due(now: number): Arrival[] {
    const from = this.#next;
    while (this.nextAt <= now) this.#next++;
    return this.#arrivals.slice(from, this.#next);
  }
}

/** Seeded, in [0, 1). */
export function uniform(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}
