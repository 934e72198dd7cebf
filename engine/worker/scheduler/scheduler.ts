import type { Tier } from "../../protocol/request.ts";
import type { Backlog } from "../../protocol/step.ts";
import { ForecastMargin } from "../cost/forecast-margin.ts";
import { copyBudget, type PlanLimits } from "../cost/step-caps.ts";
import type { Forecast, StepCosts } from "../cost/step-model.ts";
import type { Reuse } from "../kv/cached-sequence.ts";
import type { KvCache } from "../kv/kv-cache.ts";
import { BacklogCount } from "./backlog.ts";
import { Checkpoints } from "./checkpoints.ts";
import { shortestChunk } from "./chunk.ts";
import type { Passes } from "./decode-passes.ts";
import { Preemption } from "./preemption.ts";
import { PrefixWaits } from "./prefix-waits.ts";
import { isDecode, type Sequence } from "./scheduled-sequence.ts";
import { type PlanEntry, StepDraft } from "./step-draft.ts";
import { StepPlanner } from "./step-planner.ts";
import { type TierLimitOptions, TierLimits } from "./tier-limits.ts";
import { countByTier, hasTier, insertInOrder, isOnline } from "./tiers.ts";
import { WaitingQueue } from "./waiting-queue.ts";

export interface SchedulerOptions extends PlanLimits, TierLimitOptions {
  reuse: Reuse;
  /** In a unified cache while online work runs; in a split one they are of consecutive ids. */
  passes?: Passes;
  /** Tokens at the end of a chat's prompt that the next turn's does not have. */
  opening?: number;
}

/** The next step. */
export interface Step<S extends Sequence> extends Forecast {
  /** By ascending id, as a split cache needs them; empty when no sequence is ready. */
  entries: PlanEntry<S>[];
  /** Sequences that started before this step. */
  started: S[];
  /** Sequences that were preempted before this step. */
  preempted: number;
  /** The first waiting sequence when it cannot start although no sequence runs: all others would wait behind it. */
  unstartable: S | null;
}

/** Waiting prompts of 4,000 tokens that can be compared with the running ones in half a millisecond. */
const MOST_COMPARED = 64;

/**
 * Decides which sequences run and what each step computes. Called between steps only; has no reference to llama.cpp or to
 * a clock.
 *
 * `schedule()` is the algorithm. It plans a step once. In a split cache, and beside online work of a model with recurrent state,
 * a step is of one kind, and where the kinds have to be compared by the fill of their steps, each is planned once. A step of lower
 * tiers between two of online work that is empty is followed by an online plan. When no planned sequence can reserve its cells, all
 * is planned again for the sequences that still run. A plan only adds up predictions; the time of planning is measured with every
 * step (`planMs`).
 *
 * Online work never waits for a lower tier: some sequences and cells stay free for it, and when these are taken too, lower
 * tiers are preempted before the same step. Flex preempts batch in the same way, except for a share that batch keeps: both
 * make progress, however much there is of the other.
 */
export class Scheduler<S extends Sequence> {
  readonly #cache: KvCache;
  readonly #options: SchedulerOptions;
  readonly #costs: StepCosts;
  readonly #waiting = new WaitingQueue<S>();
  /** By tier, and within a tier by arrival. */
  readonly #running: S[] = [];
  readonly #limits: TierLimits;
  readonly #preemption: Preemption<S>;
  readonly #prefixWaits: PrefixWaits<S>;
  /** Null where prefixes are reused in parts, and need no copy. */
  readonly #checkpoints: Checkpoints<S> | null;
  readonly #planner: StepPlanner<S>;
  readonly #backlog = new BacklogCount<S>();
  readonly #margin = new ForecastMargin();
  /** Plans that the rules left empty although a sequence was ready. Anything but 0 is a defect of the rules. */
  forced = 0;

  constructor(cache: KvCache, options: SchedulerOptions, costs: StepCosts) {
    this.#cache = cache;
    this.#options = options;
    this.#costs = costs;
    this.#limits = new TierLimits(options);
    const requeue = (sequence: S) => this.add(sequence);
    this.#preemption = new Preemption({ cache, limits: this.#limits, running: this.#running, requeue });
    this.#prefixWaits = new PrefixWaits(cache, options.reuse);
    const copies = options.reuse === "whole" && !cache.prefixes.host.isOff;
    this.#checkpoints = copies ? new Checkpoints(cache, options.opening) : null;
    this.#planner = new StepPlanner(options, () => this.#emptyDraft());
  }

  /** Admits waiting sequences and plans the next step. */
  schedule(): Step<S> {
    this.#preemption.beginStep();
    // Admission copies prefixes, and the time of copies counts in the plan.
    this.#allowCopies();
    this.#checkpoints?.copy(this.#running);
    const started = this.#admit();
    const plan = this.#planWithinCells();
    const sequences = plan.entries.map(({ sequence }) => sequence);
    this.#arrange(sequences);
    const forecast = plan.forecast();
    this.#settle(sequences, forecast);
    const entries = plan.entries.toSorted((a, b) => a.sequence.id - b.sequence.id);
    return { entries, started, preempted: this.#preemption.count, unstartable: this.#unstartable(), ...forecast };
  }

  add(sequence: S): void {
    this.#backlog.expect(sequence, this.#cache.reusable(sequence, isOnline(sequence)));
    sequence.state = "waiting";
    this.#waiting.add(sequence);
    this.#cache.prefixes.announce(sequence);
    this.#checkpoints?.expect(sequence, this.#running);
  }

  /** Removes a sequence in any state; its computed tokens stay as an idle prefix. */
  end(sequence: S): void {
    if (sequence.state === "running") {
      this.#running.splice(this.#running.indexOf(sequence), 1);
      this.#cache.release(sequence, sequence.tier === "batch");
    } else if (sequence.state === "waiting") {
      this.#waiting.remove(sequence);
      this.#cache.prefixes.withdraw(sequence);
    }
    this.#prefixWaits.end(sequence);
    sequence.state = "ended";
  }

  /** Takes what a step really took, from the start of its plan to its last token. */
  measured({ onlineTokens, predictedMs }: Forecast, totalMs: number): void {
    if (onlineTokens === 0) this.#margin.observe(predictedMs, totalMs);
  }

  get running(): number {
    return this.#running.length;
  }

  get waiting(): number {
    return this.#waiting.sequences.length;
  }

  get byTier(): Record<"running" | "waiting", Record<Tier, number>> {
    return { running: countByTier(this.#running), waiting: countByTier(this.#waiting.sequences) };
  }

  /** The time that steps of lower tiers alone take, in multiples of their forecast. */
  get overrun(): number {
    return this.#margin.factor;
  }

  /** The work that is left, between two steps. */
  get backlog(): Omit<Backlog, "fit"> {
    const { tiers, kvPerDecode } = this.#backlog.read(this.#waiting.sequences, this.#running, this.#cache.attention());
    const { ttftMs, itlMs } = this.#options;
    return {
      tiers,
      kvPerDecode,
      flexPlaces: this.#limits.flex,
      objectives: { ttftMs, itlMs },
      alternatingSteps: this.#passes !== "mixed",
    };
  }

  /** Running sequences that a step may compute. */
  get #ready(): S[] {
    return this.#running.filter((sequence) => sequence.ready?.() ?? true);
  }

  /** Lower tiers alone have mixed steps in a unified cache, where a batch on a hybrid model is faster with them. */
  get #passes(): Passes {
    if (this.#cache.kind === "split") return "consecutive";
    return this.#running.some(isOnline) ? (this.#options.passes ?? "mixed") : "mixed";
  }

  #emptyDraft(): StepDraft<S> {
    return new StepDraft<S>(this.#costs, this.#cache.attention(), this.#passes);
  }

  /** Sets the time that copies to and from host memory may take before this step. */
  #allowCopies(): void {
    const streams = this.#emptyDraft();
    for (const sequence of this.#ready) if (isOnline(sequence) && isDecode(sequence)) streams.add(sequence, 1);
    const cheapestMs = this.#costs.predict({ prefill: 0, decode: 1, kv: 0, read: 0, passes: 1 });
    // Both lists begin with their online sequences.
    const first = [this.#running[0], this.#waiting.sequences[0]];
    const awaited = first.some((sequence) => sequence !== undefined && isOnline(sequence));
    this.#cache.prefixes.host.copies.allow(copyBudget(streams.ms, cheapestMs, awaited, this.#options, this.overrun));
  }

  /** Starts waiting sequences. One that waits for a prefix is passed over, one that has no room holds back all after it. */
  #admit(): S[] {
    const started: S[] = [];
    let compared = 0;
    for (const sequence of this.#waiting.order(this.#batchBeforeFlex())) {
      if (this.#preemption.holdsBack(sequence)) break;
      if (this.#limits.isReached(sequence, this.#running) && !this.#preemption.canMakeRoomFor(sequence)) {
        if (sequence.tier === "flex" && this.#limits.isLeftToBatch(this.#running)) continue;
        break;
      }
      if (this.#prefixWaits.stillWaits(sequence)) continue;
      if (compared++ === MOST_COMPARED) break;
      if (this.#prefixWaits.beginsToWait(sequence, this.#running)) continue;
      if (!this.#place(sequence)) break;
      this.#start(sequence);
      started.push(sequence);
    }
    return started;
  }

  /** While no batch sequence runs, the first one precedes flex, which could take all cells. */
  #batchBeforeFlex(): boolean {
    return hasTier(this.#running, "flex") && !hasTier(this.#running, "batch");
  }

  /** Gives a sequence an id and cells, by preemption if need be. */
  #place(sequence: S): boolean {
    while (this.#limits.isReached(sequence, this.#running) || !this.#cache.place(sequence, isOnline(sequence))) {
      if (!this.#preemption.canMakeRoomFor(sequence)) return false;
      this.#preemption.preempt();
    }
    return true;
  }

  #start(sequence: S): void {
    this.#waiting.start(sequence);
    this.#cache.prefixes.withdraw(sequence);
    this.#prefixWaits.end(sequence);
    sequence.state = "running";
    this.#checkpoints?.begin(sequence);
    insertInOrder(this.#running, sequence);
  }

  /**
   * A plan of which every entry has its cells; empty only when no running sequence is ready.
   *
   * @throws Error when a round neither reserves an entry nor preempts a sequence: the scheduler's state is inconsistent
   */
  #planWithinCells(): StepDraft<S> {
    for (let before = Number.POSITIVE_INFINITY; this.#running.length < before; ) {
      before = this.#running.length;
      const plan = this.#plan();
      const reserved = this.#reserve(plan);
      if (reserved.entries.length > 0 || plan.entries.length === 0) return reserved;
    }
    throw new Error("Scheduler invariant: no planned sequence has cells, and none was preempted for them.");
  }

  /** A plan by the rules, without regard to cells; empty only when no running sequence is ready. */
  #plan(): StepDraft<S> {
    const ready = this.#ready;
    const { spentMs } = this.#cache.prefixes.host.copies;
    const plan = this.#planner.plan(ready, this.#waiting.sequences[0], spentMs, this.overrun);
    const [first] = ready;
    if (plan.entries.length > 0 || first === undefined) return plan;
    // No combination of rules and forecasts may stop the engine: the first sequence makes progress in its shortest chunk.
    this.forced++;
    plan.add(first, shortestChunk(first, plan, this.#options));
    return plan;
  }

  /** The part of a plan for which there are cells. */
  #reserve(plan: StepDraft<S>): StepDraft<S> {
    const extended = plan.entries.filter((entry) => this.#extend(entry));
    // An entry may have preempted one whose cells were reserved before.
    const reserved = extended.filter(({ sequence }) => sequence.state === "running");
    if (reserved.length === plan.entries.length) return plan;
    const rest = plan.another();
    for (const { sequence, count } of reserved) rest.add(sequence, count);
    return rest;
  }

  /** Reserves the cells of an entry, by preemption if running sequences hold them all. */
  #extend({ sequence, count }: PlanEntry<S>): boolean {
    if (sequence.state !== "running") return false;
    while (!this.#cache.extend(sequence, count)) if (this.#preemption.preempt() === sequence) return false;
    return true;
  }

  /** Brings the ids of planned sequences into the order in which a step takes the fewest passes. */
  #arrange(planned: readonly S[]): void {
    this.#cache.settle(planned.filter(isDecode));
  }

  /** Keeps what later steps depend on: the planner's history, and the owners' accounts. */
  #settle(planned: readonly S[], forecast: Forecast): void {
    this.#planner.count(this.#ready, planned, forecast, this.#cache.prefixes.host.copies.spentMs);
    for (const sequence of planned) if (isDecode(sequence)) this.#waiting.charge(sequence);
  }

  #unstartable(): S | null {
    if (this.#running.length > 0) return null;
    const [first = null] = this.#waiting.order();
    return first;
  }
}
