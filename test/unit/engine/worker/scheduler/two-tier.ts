import { hostMemory } from "../../../../../bench/scheduler/fake-memory.ts";
import type { Tier } from "../../../../../engine/protocol/request.ts";
import { type Fit, StepModel, type StepShape } from "../../../../../engine/worker/cost/step-model.ts";
import type { KvCache, KvMemory } from "../../../../../engine/worker/kv/kv-cache.ts";
import { SplitCache } from "../../../../../engine/worker/kv/split-cache.ts";
import { UnifiedCache } from "../../../../../engine/worker/kv/unified-cache.ts";
import { DecodePasses } from "../../../../../engine/worker/scheduler/decode-passes.ts";
import { remaining, type Sequence } from "../../../../../engine/worker/scheduler/scheduled-sequence.ts";
import { Scheduler, type Step } from "../../../../../engine/worker/scheduler/scheduler.ts";
import { isOnline } from "../../../../../engine/worker/scheduler/tiers.ts";

/** A machine whose steps cost about what its fit says; the step model has to learn the fit. */
export interface Machine {
  fit: Fit;
  /** Uniform noise, in both directions. */
  noise: number;
}

export interface Shift {
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

export interface Visit {
  tier: Tier;
  /** Arrival in milliseconds. */
  at: number;
  /** Tokens of the prompt, and of the answer. */
  prompt: number;
  goal: number;
}

/** The arrivals. */
export interface Visitors {
  /** Arrivals until now that were not returned before. */
  due(now: number, waiting: (tier: Tier) => number): Visit[];
  /** The time of the next scheduled arrival; infinity without one. */
  readonly nextAt: number;
}

export class Guest implements Sequence {
  readonly tier: Tier;
  readonly owner = "local";
  readonly arrival: number;
  readonly tokens: number[];
  readonly came: number;
  readonly goal: number;
  readonly scope = "";
  id = -1;
  computed = 0;
  state: Sequence["state"] = "waiting";
  /** Milliseconds from its arrival to its first step. */
  waited: number | null = null;
  /** The time of its last token. */
  told: number | null = null;
  /** The time of its end. */
  ended: number | null = null;
  /** Steps of lower tiers alone that it waited for, including the one that computed at its arrival. */
  behindLower = 0;

  readonly #prompt: number;

  get answer() {
    return { written: this.tokens.length - this.#prompt, left: this.goal - this.tokens.length };
  }

  constructor(tier: Tier, arrival: number, came: number, prompt: number, goal: number) {
    this.#prompt = prompt;
    this.tier = tier;
    this.arrival = arrival;
    this.came = came;
    // There is no common prefix to wait for.
    this.tokens = Array.from({ length: prompt }, (_, i) => (i === 0 ? arrival : i));
    this.goal = prompt + goal;
  }
}

/** One step that was computed. */
export interface Past {
  step: Step<Guest>;
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
  moving: () => false,
  save: () => null,
  load: () => false,
};

/** Drives the scheduler on a clock of its own, with a step model that has to learn the machine. */
export class TwoTiers {
  readonly shift: Shift;
  readonly cache: KvCache;
  readonly model = new StepModel();
  readonly scheduler: Scheduler<Guest>;
  readonly guests: Guest[] = [];
  readonly live = new Set<Guest>();
  now = 0;
  /** Milliseconds between two tokens of online streams. */
  readonly gaps: number[] = [];
  readonly #visitors: Visitors;
  readonly #noise: () => number;
  /** Whether the current step is of lower tiers alone. */
  #lowerAlone = false;

  constructor(shift: Shift, visitors: Visitors) {
    this.shift = shift;
    this.#visitors = visitors;
    this.#noise = uniform(shift.seed + 2);
    const { kind, sequences, cells } = shift;
    const reserved = Math.max(1, sequences >> 3);
    this.cache =
      kind === "split"
        ? new SplitCache(NO_MEMORY, hostMemory(0), {
            ids: sequences,
            capacity: cells,
            copyPrice: 32,
            reserved,
            reuse: true,
          })
        : new UnifiedCache(NO_MEMORY, hostMemory(0), { ids: 2 * sequences, cells, reserved: cells >> 3, reuse: true });
    const limits = { stepTokens: 512, ttftMs: 500, mostStepMs: 30_000, ...shift };
    this.scheduler = new Scheduler<Guest>(this.cache, { ...limits, reserved, reuse: true }, this.model);
  }

  /** Runs until all requests have ended. */
  run(observe: (past: Past) => void): void {
    for (;;) {
      this.#arrive();
      if (this.live.size === 0 && this.#visitors.nextAt === Number.POSITIVE_INFINITY) return;
      const step = this.scheduler.schedule();
      if (step.entries.length === 0) {
        if (this.live.size > 0) throw new Error("Somebody is there and nothing is computed.");
        this.now = this.#visitors.nextAt;
        this.#lowerAlone = false;
      } else {
        observe(this.#compute(step));
      }
    }
  }

  #arrive(): void {
    const waiting = (tier: Tier) =>
      [...this.live].filter((guest) => guest.tier === tier && guest.state === "waiting").length;
    for (const { tier, at, prompt, goal } of this.#visitors.due(this.now, waiting)) {
      const guest = new Guest(tier, this.guests.length, at, prompt, goal);
      if (isOnline(guest) && this.#lowerAlone) guest.behindLower = 1;
      this.guests.push(guest);
      this.live.add(guest);
      this.scheduler.add(guest);
    }
  }

  #compute(step: Step<Guest>): Past {
    const { noise } = this.shift.machine;
    const online = step.entries.filter(({ sequence }) => isOnline(sequence));
    const exact = this.#cost(step.entries);
    const past = {
      step,
      took: exact * (1 - noise + 2 * noise * this.#noise()),
      exact,
      onlineExact: this.#cost(online),
      onlineRuns: [...this.live].some((guest) => isOnline(guest) && guest.state === "running"),
    };
    this.#lowerAlone = online.length === 0;
    for (const { sequence, count } of step.entries) {
      sequence.waited ??= this.now - sequence.came;
      sequence.computed += count;
    }
    if (this.#lowerAlone) for (const guest of this.live) if (guest.waited === null) guest.behindLower++;
    this.now += past.took;
    this.model.observe(step.shape, past.took);
    this.scheduler.measured(step, past.took);
    for (const { sequence } of step.entries) {
      if (remaining(sequence) > 0) continue;
      if (isOnline(sequence)) {
        if (sequence.told !== null) this.gaps.push(this.now - sequence.told);
        sequence.told = this.now;
      }
      sequence.tokens.push(1);
      if (sequence.tokens.length < sequence.goal) continue;
      this.scheduler.end(sequence);
      sequence.ended = this.now;
      this.live.delete(sequence);
    }
    return past;
  }

  /** The machine's milliseconds for a part of a step. */
  #cost(entries: Step<Guest>["entries"]): number {
    if (entries.length === 0) return 0;
    const { fit } = this.shift.machine;
    const split = this.shift.kind === "split" ? new DecodePasses() : null;
    const shape: StepShape = { prefill: 0, decode: 0, kv: 0, read: 0, passes: 1 };
    for (const { sequence, count } of entries) {
      const next = remaining(sequence) === 1;
      shape[next ? "decode" : "prefill"] += count;
      shape[next ? "kv" : "read"] += this.cache.attended(sequence, count);
      shape.passes = split?.with(sequence, count) ?? 1;
      split?.add(sequence, count);
    }
    const { prefill, decode, kv, read, passes } = shape;
    return fit.o + fit.p * prefill + fit.d * decode + fit.k * kv + fit.r * read + fit.m * (passes - 1);
  }
}

/** Online requests at random instants; lower tiers always wait until the last of these has arrived. */
export class Saturation implements Visitors {
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

  due(now: number, waiting: (tier: Tier) => number): Visit[] {
    const visits: Visit[] = [];
    while (this.nextAt <= now) {
      visits.push(this.#visit(this.#onlineDraw() < 0.1 ? "priority" : "default", this.nextAt));
      this.#left--;
      this.nextAt = this.#left > 0 ? this.nextAt + this.#gap() : Number.POSITIVE_INFINITY;
    }
    if (this.#left === 0) return visits;
    for (const tier of ["flex", "batch"] as const) {
      for (let there = waiting(tier); there < (this.#backlog[tier] ?? 0); there++) visits.push(this.#visit(tier, now));
    }
    return visits;
  }

  #visit(tier: Tier, at: number): Visit {
    const draw = tier === "flex" || tier === "batch" ? this.#otherDraw : this.#onlineDraw;
    return { tier, at, prompt: 8 + Math.floor(240 * draw() ** 2), goal: 1 + Math.floor(60 * draw()) };
  }

  #gap(): number {
    return -Math.log(1 - this.#onlineDraw()) * this.#gapMs;
  }
}

/** Visits with fixed arrival times, in their order. */
export class Schedule implements Visitors {
  readonly #visits: readonly Visit[];
  #next = 0;

  constructor(visits: readonly Visit[]) {
    this.#visits = visits;
  }

  get nextAt(): number {
    return this.#visits[this.#next]?.at ?? Number.POSITIVE_INFINITY;
  }

  due(now: number): Visit[] {
    const from = this.#next;
    while (this.nextAt <= now) this.#next++;
    return this.#visits.slice(from, this.#next);
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
