import type { Clock } from "../../../platform/clock.ts";
import type { Tier } from "../../protocol/request.ts";
import type { RateUse } from "../rate/rate-cap.ts";
import { Breaker, type Passage } from "./breaker.ts";
import { ConcurrencyLimit, type Ending, type Place, type ReplicaLimits } from "./concurrency-limit.ts";
import type { ReportedLoad } from "./load-metrics.ts";
import { RecentTimes } from "./recent-times.ts";

/** Milliseconds after which a time to the first token says nothing of the present. */
const TTFT_AGE_MS = 15_000;
/** Requests without flex and batch beside them, from which on their times make an objective. */
const ALONE_REQUESTS = 8;
/** The objective is their 95th percentile and a quarter more, within bounds in milliseconds. */
const ALLOWANCE = 1.25;
const LEAST_OBJECTIVE_MS = 50;
const MOST_OBJECTIVE_MS = 2000;
const UNKNOWN_LOAD: ReportedLoad = { running: null, waiting: null, kvUsed: null, generatedTokens: null };

/** One address of an upstream, with its health and the work that this server has there. */
export class Replica {
  readonly url: string;
  /** Its part of the load, relative to those of the others. */
  readonly weight: number;
  readonly breaker: Breaker;
  readonly limit: ConcurrencyLimit;
  /** False while its list of models cannot be read. */
  healthy = false;
  /** For the operator alone; null where nothing failed, or all is well again. */
  lastError: string | null = null;
  load: ReportedLoad = UNKNOWN_LOAD;
  /** Time of the last report of its load; null before the first. */
  loadAt: number | null = null;
  /** Tokens that it has generated since its first report, for anyone; null where it does not tell. */
  generatedTokens: number | null = null;
  /** Requests and estimated tokens in flight at it. */
  requests = 0;
  tokens = 0;
  online = 0;
  /** Online requests in flight that have shown nothing. */
  readonly unbegun = new Set<Visit>();
  /** The choices and inputs of the requests in flight: each takes a slot of its own. */
  sequences = 0;
  /** Sequences that it computes at once; null where it does not say. */
  slots: number | null = null;
  /** Those of flex and batch in flight, the oldest first. */
  readonly lower = new Set<Visit>();
  /** Called when a request has left it. */
  onLeave: () => void = () => {};
  /** Times to the first token of recent online requests; and of those that began without flex or batch beside them. */
  readonly ttft: RecentTimes;
  readonly aloneTtft: RecentTimes;

  /** @param first the limits with which it begins, where they are not the usual ones */
  constructor(url: string, clock: Pick<Clock, "now">, weight = 1, first?: ReplicaLimits) {
    this.url = url;
    this.weight = weight;
    this.breaker = new Breaker(clock);
    this.limit = new ConcurrencyLimit(clock, first);
    this.ttft = new RecentTimes(clock, TTFT_AGE_MS);
    this.aloneTtft = new RecentTimes(clock);
  }

  /** It tells its load. */
  reported(load: ReportedLoad, now: number): void {
    const { generatedTokens: before } = this.load;
    const { generatedTokens: tokens } = load;
    if (tokens !== null) {
      // A counter that has fallen began anew with the engine.
      const since = before === null ? 0 : tokens < before ? tokens : tokens - before;
      this.generatedTokens = (this.generatedTokens ?? 0) + since;
    }
    this.load = load;
    this.loadAt = now;
  }

  /** True while no request of flex or batch is in flight at it. */
  get alone(): boolean {
    return this.limit.inFlight === 0;
  }

  /** The objective for the time to first token that its online requests show by themselves, in milliseconds. */
  get objectiveMs(): number {
    const usual = this.aloneTtft.count < ALONE_REQUESTS ? null : this.aloneTtft.quantile(0.95);
    if (usual === null) return MOST_OBJECTIVE_MS;
    return Math.min(MOST_OBJECTIVE_MS, Math.max(LEAST_OBJECTIVE_MS, usual * ALLOWANCE));
  }

  /** An online request has its first content. @param alone as it was when the request was sent */
  begun(ttftMs: number, alone: boolean): void {
    this.ttft.add(ttftMs);
    if (alone) this.aloneTtft.add(ttftMs);
  }

  /** Milliseconds in its queue: that of the recent requests, while it reports one. */
  get expectedWaitMs(): number {
    return (this.load.waiting ?? 0) > 0 ? (this.ttft.quantile(0.5) ?? 0) : 0;
  }

  /** Requests of flex and batch that may be in flight at once. */
  get places(): number {
    return Math.min(this.limit.limit, this.#sharedSlots);
  }

  /** Slots for all but an online request that may come: while one is expected, it finds a slot free. */
  get #sharedSlots(): number {
    if (this.slots === null) return Number.POSITIVE_INFINITY;
    return Math.max(1, this.limit.beside ? this.slots - 1 : this.slots);
  }

  /** True where so many sequences would not wait, as far as is known: its latest report has no queue. */
  isIdle(sequences: number): boolean {
    const queueless = this.load.waiting === 0 && !this.limit.stale;
    const slotFree = this.slots === null || this.sequences + sequences <= this.slots;
    return this.healthy && this.breaker.state === "closed" && queueless && slotFree;
  }

  /** True when `enter` would let a request in. */
  admits(tier: Tier, last: boolean): boolean {
    return this.breaker.admits(last) && (isOnline(tier) || (this.limit.free && this.sequences < this.#sharedSlots));
  }

  /**
   * Preempts flex and batch beyond the limit beside online requests, for one that has entered an engine that queues: batch before
   * flex, the youngest first. By its slots, or by a queue that it reports, an engine is known to queue.
   */
  makeRoom(): void {
    const queued = !this.limit.stale && (this.load.waiting ?? 0) > 0;
    if (!queued && this.slots === null) return;
    let beyondLimit = this.limit.inFlight - this.limit.limit;
    let beyondSlots = this.sequences - (this.slots ?? this.sequences);
    const youngest = [...this.lower].reverse();
    for (const tier of ["batch", "flex"]) {
      for (const visit of youngest) {
        if (beyondLimit <= 0 && beyondSlots <= 0) return;
        if (visit.tier !== tier || !visit.preempt()) continue;
        beyondLimit--;
        beyondSlots -= visit.sequences;
      }
    }
  }

  /** True while online requests that have shown nothing may stand in the queue that it reports. */
  get holdsOnline(): boolean {
    return this.unbegun.size > 0 && (this.load.waiting ?? 0) > 0 && !this.limit.stale;
  }

  /** Lets a request in; null where the breaker, or for flex and batch the limit, has no room now. */
  enter(tier: Tier, tokens: number, last: boolean, sequences = 1): Visit | null {
    if (!this.admits(tier, last)) return null;
    if (isOnline(tier)) this.limit.online();
    const place = isOnline(tier) ? null : this.limit.enter();
    const passage = this.breaker.enter(last);
    return passage === null ? null : new Visit(this, { passage, place, tier, tokens, sequences });
  }
}

/** The other tiers have a limit. */
export function isOnline(tier: Tier): boolean {
  return tier === "priority" || tier === "default";
}

interface VisitParts {
  passage: Passage;
  /** Null for an online request. */
  place: Place | null;
  tier: Tier;
  tokens: number;
  sequences: number;
}

/** Why a request is taken back from a replica: for an online request, or since its other attempt has the first content. */
export type Withdrawal = "preempted" | "outrun";

/** A request in flight at a replica; it is left exactly once, whatever becomes of it. */
export class Visit {
  readonly replica: Replica;
  /** What it has used of the upstream's rate; null where an online request has no cap. */
  rate: RateUse | null = null;
  /** Asked before it is preempted: true once nothing is left of what its answer began with, and it may be sent again. */
  mayPreempt: () => boolean = () => false;
  /** Called once, with the first content of the answer. */
  onClaim: () => void = () => {};
  readonly #parts: VisitParts;
  readonly #abort = new AbortController();
  #withdrawal: Withdrawal | null = null;
  #claimed = false;
  #left = false;

  constructor(replica: Replica, parts: VisitParts) {
    this.replica = replica;
    this.#parts = parts;
    replica.requests++;
    replica.tokens += parts.tokens;
    replica.sequences += parts.sequences;
    if (isOnline(parts.tier)) replica.online++;
    (isOnline(parts.tier) ? replica.unbegun : replica.lower).add(this);
  }

  get tier(): Tier {
    return this.#parts.tier;
  }

  get sequences(): number {
    return this.#parts.sequences;
  }

  /** Aborts when the request is taken back: its connection is destroyed then, and nothing more of its answer counts. */
  get withdrawn(): AbortSignal {
    return this.#abort.signal;
  }

  /** Null unless it was taken back. */
  get withdrawal(): Withdrawal | null {
    return this.#withdrawal;
  }

  /** Called before any part of the answer is passed on: the request goes on here alone. Throws where it was taken back. */
  claim(): void {
    this.withdrawn.throwIfAborted();
    if (this.#claimed) return;
    this.#claimed = true;
    this.replica.unbegun.delete(this);
    this.onClaim();
  }

  /** Its place is needed. False where it keeps it. */
  preempt(): boolean {
    return !this.#left && this.mayPreempt() && this.#withdraw("preempted");
  }

  /** Another attempt of the request has claimed it. False where this one had ended before. */
  outrun(): boolean {
    return !this.#left && this.#withdraw("outrun");
  }

  #withdraw(withdrawal: Withdrawal): true {
    this.#withdrawal = withdrawal;
    this.#abort.abort();
    this.leave("other", false);
    return true;
  }

  /** @param ending for the limit; `failed` counts for the breaker */
  leave(ending: Ending, failed: boolean, retryAfterMs: number | null = null): void {
    if (this.#left) return;
    this.#left = true;
    const { replica } = this;
    const { passage, place, tier, tokens, sequences } = this.#parts;
    replica.requests--;
    replica.tokens -= tokens;
    replica.sequences -= sequences;
    if (isOnline(tier)) replica.online--;
    replica.lower.delete(this);
    replica.unbegun.delete(this);
    passage.end(failed ? "failure" : ending === "clean" ? "success" : "neutral");
    place?.end(ending, retryAfterMs);
    replica.onLeave();
  }
}
