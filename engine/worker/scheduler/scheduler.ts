import { TIERS, type Tier } from "../../protocol.ts";
import type { KvCache } from "../kv/cache.ts";
import { commonPrefix, reusableLength } from "../kv/resident.ts";
import { type PlanEntry, type PlanLimits, type Planner, planStep } from "./plan.ts";
import type { Sequence } from "./sequence.ts";

export interface SchedulerOptions extends PlanLimits {
  /** Sequences that may run at once. */
  sequences: number;
  /** Whether prompts reuse what others have computed. */
  reuse: boolean;
}

/** Fewer tokens than this are sooner computed twice than waited for. */
const SHORTEST_WAIT = 16;

/** Waiting prompts of 4,000 tokens that a step can compare with those that run in half a millisecond. */
const MOST_LOOKS = 64;

const RANK = Object.fromEntries(TIERS.map((tier, rank) => [tier, rank])) as Record<Tier, number>;

/** Whether a goes before b: the better tier first, then who came first. */
function compare(a: Sequence, b: Sequence): number {
  return RANK[a.tier] - RANK[b.tier] || a.arrival - b.arrival;
}

function insert<S extends Sequence>(list: S[], sequence: S): void {
  const index = list.findLastIndex((other) => compare(other, sequence) < 0);
  list.splice(index + 1, 0, sequence);
}

/**
 * Decides who runs and what each step computes. Called between steps only; knows neither llama.cpp nor the clock.
 *
 * A prompt that begins like one that is being computed waits for it, as long as that one is of an equal or better tier and
 * still runs, and then takes its prefix from the cache. When the owner ends early, the first waiter computes in its place.
 */
export class Scheduler<S extends Sequence> {
  readonly #cache: KvCache;
  readonly #options: SchedulerOptions;
  readonly #plan: Planner;
  readonly #waiting: S[] = [];
  readonly #running: S[] = [];
  /** Whose prefix a waiting sequence waits for, and up to which length. */
  readonly #awaited = new Map<S, { owner: S; length: number }>();

  constructor(cache: KvCache, options: SchedulerOptions, plan: Planner = planStep) {
    this.#cache = cache;
    this.#options = options;
    this.#plan = plan;
  }

  get running(): number {
    return this.#running.length;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  add(sequence: S): void {
    sequence.state = "waiting";
    insert(this.#waiting, sequence);
  }

  /** Takes a sequence out, wherever it is; its computed tokens stay as an idle prefix. */
  end(sequence: S): void {
    if (sequence.state === "running") {
      this.#running.splice(this.#running.indexOf(sequence), 1);
      this.#cache.release(sequence, true);
    } else if (sequence.state === "waiting") {
      this.#waiting.splice(this.#waiting.indexOf(sequence), 1);
    }
    this.#awaited.delete(sequence);
    sequence.state = "ended";
  }

  /**
   * Starts what can start and plans the next step.
   *
   * @returns the plan, by ascending id as a split cache needs it, empty when nothing is to be done; and who started
   */
  next(): { entries: PlanEntry<S>[]; started: S[] } {
    const started = this.#start();
    this.#cache.settle();
    const entries = this.#plan(this.#running, this.#options);
    const secured = entries.filter((entry) => this.#secure(entry));
    // Securing one may have sent another back that was secured before it.
    const fitting = secured.filter((entry) => entry.sequence.state === "running");
    return { entries: fitting.sort((a, b) => a.sequence.id - b.sequence.id), started };
  }

  /** Of each tier the first first; whoever waits for a prefix lets others by, whoever lacks room does not. */
  #start(): S[] {
    const started: S[] = [];
    let looks = 0;
    for (const sequence of [...this.#waiting]) {
      if (this.#running.length >= this.#options.sequences) break;
      const known = this.#awaited.get(sequence);
      if (known?.owner.state === "running" && known.owner.computed < known.length) continue;
      if (looks++ === MOST_LOOKS) break;
      if (this.#awaits(sequence)) continue;
      if (!this.#cache.place(sequence)) break;
      this.#waiting.splice(this.#waiting.indexOf(sequence), 1);
      this.#awaited.delete(sequence);
      sequence.state = "running";
      insert(this.#running, sequence);
      started.push(sequence);
    }
    return started;
  }

  /** Whether someone who runs is about to compute enough of its prompt. */
  #awaits(sequence: S): boolean {
    if (!this.#options.reuse) return false;
    const { tokens } = sequence;
    const limit = reusableLength(tokens);
    const shortest = Math.max(SHORTEST_WAIT, this.#cache.copyPrice);
    let owner: S | null = null;
    let length = shortest;
    for (const other of this.#running) {
      if (RANK[other.tier] > RANK[sequence.tier]) break;
      // To be worth more it must agree both where the best so far ends and where it has still to compute: most are
      // passed by at these two comparisons.
      const { computed } = other;
      if (Math.max(length, computed) >= limit) continue;
      if (other.tokens[length] !== tokens[length] || other.tokens[computed] !== tokens[computed]) continue;
      const shared = commonPrefix(tokens, other.tokens, limit);
      if (shared <= length || computed >= shared) continue;
      owner = other;
      length = shared;
    }
    if (owner === null || length - this.#cache.reusable(sequence) <= shortest) return false;
    this.#awaited.set(sequence, { owner, length });
    return true;
  }

  /**
   * Makes sure of the cells of a planned entry. When running sequences hold them all, the last of the lowest tier goes
   * back to the queue and computes again later: the first always finishes, so everyone does.
   */
  #secure(entry: PlanEntry<S>): boolean {
    const { sequence } = entry;
    if (sequence.state !== "running") return false;
    while (!this.#cache.extend(sequence, entry.count)) {
      const victim = this.#running.at(-1)!;
      this.#preempt(victim);
      if (victim === sequence) return false;
    }
    return true;
  }

  #preempt(sequence: S): void {
    this.#running.splice(this.#running.indexOf(sequence), 1);
    this.#cache.release(sequence, false);
    sequence.computed = 0;
    this.add(sequence);
  }
}
