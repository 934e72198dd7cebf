import type { Tier } from "../../protocol/request.ts";
import type { Backlog } from "../../protocol/step.ts";
import { ForecastMargin } from "../cost/forecast-margin.ts";
import { copyBudget, type PlanLimits } from "../cost/step-caps.ts";
import type { Forecast, StepCosts } from "../cost/step-model.ts";
import type { KvCache } from "../kv/kv-cache.ts";
import { BacklogCount } from "./backlog.ts";
import { shortest } from "./chunk.ts";
import { PrefixWaits } from "./prefix-waits.ts";
import { countByTier, isDecode, isOnline, outranks, type Sequence } from "./scheduled-sequence.ts";
import { type PlanEntry, StepDraft } from "./step-draft.ts";
import { StepPlanner } from "./step-planner.ts";
import { TierPlaces, type TierPlacesOptions } from "./tier-limits.ts";
import { insert } from "./tiers.ts";
import { TierQueues } from "./waiting-queue.ts";

export interface SchedulerOptions extends PlanLimits, TierPlacesOptions {
  /** Whether prompts reuse what others have computed. */
  reuse: boolean;
}

/** The next step: its plan, by ascending id as a split cache needs it, empty when nothing is to be done or nothing is ready. */
export interface Step<S extends Sequence> extends Forecast {
  entries: PlanEntry<S>[];
  started: S[];
  /** Sequences that ran until now and gave their place up. */
  displaced: number;
  /** Nothing runs, and this one, the first in turn, can't start: it would keep all others waiting. Null as a rule. */
  unstartable: S | null;
}

/** Waiting prompts of 4,000 tokens that a step can compare with those that run in half a millisecond. */
const MOST_LOOKS = 64;

/**
 * Decides who runs and what each step computes. Called between steps only; knows neither llama.cpp nor the clock.
 *
 * A prompt that begins like one that is being computed waits for it, as long as that one is of an equal or better tier and
 * still runs, and then takes its prefix from the cache. When that one ends early, the first who waits computes in its place.
 *
 * Online never waits for a lower tier: some sequences and cells stay free for it, and when these are taken too, the last
 * of the lowest tier goes back to the head of its queue, before the same step. What it computed stays as an idle prefix,
 * and as much of it as survives is not computed again. Flex takes places from batch in the same way, but for a share that
 * batch keeps: both go on, however much there is of the other.
 */
export class Scheduler<S extends Sequence> {
  readonly #cache: KvCache;
  /** Whether every id has cells of its own. */
  readonly #split: boolean;
  readonly #options: SchedulerOptions;
  readonly #costs: StepCosts;
  readonly #waiting: S[] = [];
  readonly #turns = new TierQueues<S>();
  readonly #running: S[] = [];
  readonly #backlog = new BacklogCount<S>();
  readonly #prefixWaits: PrefixWaits<S>;
  readonly #overrun = new ForecastMargin();
  readonly #places: TierPlaces;
  readonly #planner: StepPlanner<S>;
  /** Plans that the rules left empty though one ran. Anything but 0 is a fault of the rules. */
  forced = 0;
  /** The last one sent back in this step. */
  #sentBack: S | null = null;
  #displaced = 0;

  constructor(cache: KvCache, options: SchedulerOptions, costs: StepCosts) {
    this.#cache = cache;
    this.#split = cache.kind === "split";
    this.#options = options;
    this.#costs = costs;
    this.#places = new TierPlaces(options);
    this.#planner = new StepPlanner(options, this.#split, () => this.#emptyDraft());
    this.#prefixWaits = new PrefixWaits(cache);
  }

  get running(): number {
    return this.#running.length;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  get byTier(): Record<"running" | "waiting", Record<Tier, number>> {
    return { running: countByTier(this.#running), waiting: countByTier(this.#waiting) };
  }

  /** What it has to do, as it stands between two steps. */
  get backlog(): Omit<Backlog, "fit"> {
    const { tiers, kvPerDecode } = this.#backlog.read(this.#waiting, this.#running, (sequence) =>
      this.#cache.attended(sequence, 1),
    );
    const { ttftMs, itlMs } = this.#options;
    return { tiers, kvPerDecode, flexPlaces: this.#places.flex, objectives: { ttftMs, itlMs }, turns: this.#split };
  }

  add(sequence: S): void {
    this.#turns.join(sequence);
    this.#backlog.expect(sequence, this.#cache.reusable(sequence, isOnline(sequence)));
    sequence.state = "waiting";
    insert(this.#waiting, sequence);
    this.#cache.prefixes.announce(sequence);
  }

  /** Takes a sequence out, wherever it is; its computed tokens stay as an idle prefix. */
  end(sequence: S): void {
    if (sequence.state === "running") {
      this.#running.splice(this.#running.indexOf(sequence), 1);
      this.#cache.release(sequence, sequence.tier === "batch");
    } else if (sequence.state === "waiting") {
      this.#waiting.splice(this.#waiting.indexOf(sequence), 1);
      this.#cache.prefixes.withdraw(sequence);
      this.#turns.leave(sequence);
    }
    this.#prefixWaits.end(sequence);
    sequence.state = "ended";
  }

  /** What steps of lower tiers alone take, in multiples of their forecast. */
  get overrun(): number {
    return this.#overrun.factor;
  }

  /** What a step has really taken, with all that came before and after its decode. */
  measured({ onlineTokens, predictedMs }: Forecast, totalMs: number): void {
    if (onlineTokens === 0) this.#overrun.observe(predictedMs, totalMs);
  }

  /** Starts what can start and plans the next step. */
  next(): Step<S> {
    this.#sentBack = null;
    this.#displaced = 0;
    this.#allowCopies();
    const started = this.#start();
    const draft = this.#draft();
    const planned = draft.entries.map((entry) => entry.sequence);
    this.#cache.settle(planned.filter(isDecode));
    const forecast = draft.forecast();
    this.#planner.count(this.#ready, planned, forecast, this.#cache.prefixes.host.spentMs);
    for (const sequence of planned) if (isDecode(sequence)) this.#turns.charge(sequence);
    const entries = draft.entries.toSorted((a, b) => a.sequence.id - b.sequence.id);
    return { entries, started, displaced: this.#displaced, unstartable: this.#unstartable, ...forecast };
  }

  #emptyDraft(): StepDraft<S> {
    return new StepDraft<S>(this.#costs, (sequence, count) => this.#cache.attended(sequence, count), this.#split);
  }

  /** Those that run, but for those that no step may compute yet. */
  get #ready(): S[] {
    return this.#running.filter((sequence) => sequence.ready?.() ?? true);
  }

  get #unstartable(): S | null {
    if (this.#running.length > 0) return null;
    const [first = null] = this.#candidates();
    return first;
  }

  #allowCopies(): void {
    const { host } = this.#cache.prefixes;
    const streams = this.#emptyDraft();
    for (const sequence of this.#ready) if (isOnline(sequence) && isDecode(sequence)) streams.add(sequence, 1);
    const cheapestMs = this.#costs.predict({ prefill: 0, decode: 1, kv: 0, read: 0, passes: 1 });
    // Both lists begin with who is online, if anyone is.
    const awaited = [this.#running[0], this.#waiting[0]].some((first) => first !== undefined && isOnline(first));
    host.allow(copyBudget(streams.ms, cheapestMs, awaited, this.#options, this.overrun));
  }

  /**
   * A plan of which everyone has the cells; never empty while one that is ready runs. When none of a plan found cells, those who held
   * them were sent back and the others have room now: every round plans something or leaves fewer who run.
   */
  #draft(): StepDraft<S> {
    let draft = this.#wanted();
    while (draft.entries.length > 0) {
      const secured = draft.entries.filter((entry) => this.#secure(entry));
      // Securing one may have sent another back that was secured before it.
      const fitting = secured.filter((entry) => entry.sequence.state === "running");
      if (fitting.length === draft.entries.length) return draft;
      const rest = draft.another();
      for (const { sequence, count } of fitting) rest.add(sequence, count);
      if (fitting.length > 0) return rest;
      draft = this.#wanted();
    }
    return draft;
  }

  /** What the rules want of a step, whoever has the cells for it; empty when nothing that runs is ready. */
  #wanted(): StepDraft<S> {
    const ready = this.#ready;
    const draft = this.#planner.plan(ready, this.#waiting[0], this.#cache.prefixes.host.spentMs, this.overrun);
    const [first] = ready;
    if (draft.entries.length > 0 || first === undefined) return draft;
    // No combination of rules and forecasts may stop the engine: then the first goes on, in the least that is worth a step.
    this.forced++;
    draft.add(first, shortest(first, draft, this.#options));
    return draft;
  }

  /** Of each tier the first first; whoever waits for a prefix lets others by, whoever lacks room does not. */
  #start(): S[] {
    const started: S[] = [];
    let looks = 0;
    for (const sequence of this.#candidates()) {
      // Who was sent back comes before the rest of its kind, and there is no room for it now.
      if (this.#sentBack !== null && !outranks(sequence, this.#sentBack)) break;
      if (this.#places.full(sequence, this.#running) && !this.#canMakeRoom(sequence)) {
        // Flex that lacks room, and not only its share, lets no other flex by.
        if (sequence.tier === "flex" && this.#places.leftToBatch(this.#running)) continue;
        break;
      }
      if (this.#prefixWaits.goesOn(sequence)) continue;
      if (looks++ === MOST_LOOKS) break;
      if (this.#options.reuse && this.#prefixWaits.begins(sequence, this.#running)) continue;
      if (!this.#place(sequence)) break;
      this.#waiting.splice(this.#waiting.indexOf(sequence), 1);
      this.#cache.prefixes.withdraw(sequence);
      this.#prefixWaits.end(sequence);
      this.#turns.start(sequence);
      sequence.state = "running";
      insert(this.#running, sequence);
      started.push(sequence);
    }
    return started;
  }

  /** Who waits, in order; but of a batch of which nothing runs, the first comes before flex, which might take all cells. */
  #candidates(): Iterable<S> {
    const waiting = [...this.#waiting];
    const batch = waiting.findIndex(({ tier }) => tier === "batch");
    const flex = waiting.findIndex(({ tier }) => tier === "flex");
    const runs = (tier: Tier) => this.#running.some((sequence) => sequence.tier === tier);
    if (runs("flex") && flex >= 0 && batch > flex && !runs("batch"))
      waiting.splice(flex, 0, ...waiting.splice(batch, 1));
    return this.#turns.order(waiting);
  }

  /** Gives it an id and cells, if need be those of lower tiers. */
  #place(sequence: S): boolean {
    while (this.#places.full(sequence, this.#running) || !this.#cache.place(sequence, isOnline(sequence))) {
      if (!this.#canMakeRoom(sequence)) return false;
      this.#sendBack(this.#running.at(-1)!);
    }
    return true;
  }

  /** Whether sending lower tiers back can bring room for it; nobody is sent back for nothing. */
  #canMakeRoom(sequence: S): boolean {
    let below = this.#running.filter((other) => outranks(sequence, other));
    if (!isOnline(sequence)) below = below.slice(this.#places.batch);
    return below.length > 0 && this.#cache.fitsWithout(sequence, below);
  }

  /**
   * Makes sure of the cells of a planned entry. When running sequences hold them all, the last of the lowest tier goes
   * back to the queue: the first always finishes, so everyone does.
   */
  #secure(entry: PlanEntry<S>): boolean {
    const { sequence } = entry;
    if (sequence.state !== "running") return false;
    while (!this.#cache.extend(sequence, entry.count)) {
      const victim = this.#running.at(-1)!;
      this.#sendBack(victim);
      if (victim === sequence) return false;
    }
    return true;
  }

  #sendBack(sequence: S): void {
    this.#running.splice(this.#running.indexOf(sequence), 1);
    // It waits before it lets go: what it has computed is what it will begin with.
    this.add(sequence);
    this.#cache.release(sequence, sequence.tier === "batch");
    sequence.computed = 0;
    this.#sentBack = sequence;
    this.#displaced++;
  }
}
