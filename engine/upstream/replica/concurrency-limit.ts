import type { Clock } from "../../../platform/clock.ts";
import { RecentTimes } from "./recent-times.ts";

/** Requests of flex and batch in flight at one replica. */
const FIRST_LIMIT = 8;
/** The same beside online requests. */
const FIRST_BESIDE = 2;
/** Milliseconds after the last online request in which the next one is expected. */
const BESIDE_MS = 30_000;
const LEAST_LIMIT = 1;
export const MOST_LIMIT = 512;
const DECREASE = 0.5;
/** Milliseconds between two decreases while no request has ended well. */
const FIRST_ROUND_TRIP_MS = 1000;
/** Share of the limit that may wait in the replica's own queue without online work: more would stand before the next of it. */
const QUEUED_SHARE = 0.25;
/** Reports in a row that show a queue: one alone may have met a request that arrived within the step. */
const CROWDED_REPORTS = 3;
/** Milliseconds after late online requests in which the limit does not grow: they show up only when the next ones come. */
const LATE_HOLD_MS = 10_000;
/** Share of the objective up to which the limit grows while online requests come. */
const NEAR_OBJECTIVE = 0.8;
/** Milliseconds after which a report is stale. A replica that reported before and is silent gets no more than it has. */
const STALE_MS = 5000;

/** A replica as the latest scrape and the online requests at it show it. */
export interface ReplicaReport {
  /** Requests in its queue; null where it does not say. */
  waiting: number | null;
  /** Online requests in flight at it. */
  online: number;
  /** The recent p95 of online TTFT in milliseconds; null while nothing is measured. */
  onlineTtftMs: number | null;
  /** Its objective. */
  objectiveMs: number;
}

/** The limits without and beside online requests. */
export interface ReplicaLimits {
  alone: number;
  beside: number;
}

/** How a request of flex or batch ended; `other` says nothing of the replica's load. */
export type Ending = "clean" | "busy" | "other";

/** A request in flight under the limit. */
export interface Place {
  /** It has ended; only the first call counts. `retryAfterMs`: what a busy replica asked for, or null. */
  end(ending: Ending, retryAfterMs?: number | null): void;
}

/**
 * The number of requests of flex and batch that one replica gets at once: increased by one, decreased by half (AIMD).
 *
 * | observed | limit |
 * |---|---|
 * | as many clean answers as the limit, which was reached, and nothing waits | + 1 |
 * | the replica refuses as busy | × 0.5, and no request for as long as it asks |
 * | requests wait at it while online ones are there, or more than a quarter of the limit without | × 0.5 |
 * | the p95 of online TTFT is over its objective | × 0.5, and no growth for 10 s |
 * | it is over 0.8 of it | no growth |
 *
 * A queue counts from the third report in a row on. One decrease per round trip, the median time of a request: until then the
 * replica works on what it had. A decrease starts from what is in flight, so that a limit which was never reached protects
 * too; with nothing in flight, others are to blame.
 *
 * There are two limits, and each keeps its value while the other holds: one without online requests, 8 at first, and one from
 * an online request on until half a minute after the last, 2 at first. Both are 1 to 512.
 */
export class ConcurrencyLimit {
  readonly #clock: Pick<Clock, "now">;
  readonly #roundTrips: RecentTimes;
  #limit: number;
  #inFlight = 0;
  /** The most in flight, and the clean answers, since the limit changed. */
  #peak = 0;
  #clean = 0;
  /** Time from which the limit may decrease again. */
  #settled = Number.NEGATIVE_INFINITY;
  #pausedUntil = Number.NEGATIVE_INFINITY;
  #waiting = 0;
  /** Reports in a row that showed a queue. */
  #crowded = 0;
  /** Time from which the limit may grow again after late online requests. */
  #heldUntil = Number.NEGATIVE_INFINITY;
  /** The limit that does not hold now. */
  #other: number;
  /** Time of the last online request; null while the limit without them holds. */
  #onlineAt: number | null = null;
  /** Time of the latest report with a number of waiting requests; null before the first. */
  #reported: number | null = null;

  constructor(clock: Pick<Clock, "now">, first: ReplicaLimits = { alone: FIRST_LIMIT, beside: FIRST_BESIDE }) {
    this.#clock = clock;
    this.#roundTrips = new RecentTimes(clock);
    this.#limit = first.alone;
    this.#other = first.beside;
  }

  get limit(): number {
    if (this.#onlineAt !== null && this.#clock.now() - this.#onlineAt >= BESIDE_MS) this.#change(null);
    return this.#limit;
  }

  /** Both limits as they are. */
  get limits(): ReplicaLimits {
    const [held, other] = [this.limit, this.#other];
    return this.#onlineAt === null ? { alone: held, beside: other } : { alone: other, beside: held };
  }

  /** True while the limit beside online requests holds: the next one is expected. */
  get beside(): boolean {
    return this.#onlineAt !== null && this.#clock.now() - this.#onlineAt < BESIDE_MS;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /** Milliseconds until the replica may be asked again; 0 unless it asked for a pause. */
  get pausedMs(): number {
    return Math.max(0, this.#pausedUntil - this.#clock.now());
  }

  /** True while its reports are stale, and the limit does not grow. */
  get stale(): boolean {
    return this.#reported !== null && this.#clock.now() - this.#reported > STALE_MS;
  }

  /** True when `enter` would let a request in. */
  get free(): boolean {
    return this.pausedMs === 0 && this.#inFlight < this.limit;
  }

  /** An online request is at the replica. */
  online(): void {
    const now = this.#clock.now();
    if (this.#onlineAt === null) this.#change(now);
    else this.#onlineAt = now;
  }

  /** Null while as many are in flight as may be. */
  enter(): Place | null {
    if (!this.free) return null;
    const began = this.#clock.now();
    this.#inFlight++;
    this.#peak = Math.max(this.#peak, this.#inFlight);
    let ended = false;
    return {
      end: (ending, retryAfterMs = null) => {
        if (ended) return;
        ended = true;
        if (ending === "clean") this.#answered(this.#clock.now() - began);
        if (ending === "busy") this.#refused(retryAfterMs);
        this.#inFlight--;
      },
    };
  }

  /** The present state of the replica and its online requests; called about once a second. */
  report({ waiting, online, onlineTtftMs, objectiveMs }: ReplicaReport): void {
    if (waiting !== null) {
      this.#waiting = waiting;
      this.#reported = this.#clock.now();
    }
    if (online > 0) this.online();
    const queued = waiting ?? 0;
    const crowded = online > 0 ? queued > 0 : queued > this.limit * QUEUED_SHARE;
    this.#crowded = crowded ? this.#crowded + 1 : 0;
    const ttft = onlineTtftMs ?? 0;
    const late = ttft > objectiveMs;
    const now = this.#clock.now();
    if (late) this.#heldUntil = now + LATE_HOLD_MS;
    else if (ttft > objectiveMs * NEAR_OBJECTIVE) this.#heldUntil = Math.max(this.#heldUntil, now + STALE_MS);
    if (this.#crowded >= CROWDED_REPORTS || late) this.#decrease();
  }

  /** The other limit holds from now on. */
  #change(onlineAt: number | null): void {
    this.#onlineAt = onlineAt;
    [this.#limit, this.#other] = [this.#other, this.#limit];
    this.#clean = 0;
    this.#peak = 0;
  }

  #answered(ms: number): void {
    this.#roundTrips.add(ms);
    if (++this.#clean < this.limit) return;
    const reached = this.#peak >= this.#limit;
    this.#clean = 0;
    this.#peak = this.#inFlight - 1;
    const held = this.#clock.now() < this.#heldUntil;
    if (reached && !held && this.#waiting === 0 && !this.stale) this.#limit = Math.min(MOST_LIMIT, this.#limit + 1);
  }

  #refused(retryAfterMs: number | null): void {
    if (retryAfterMs !== null) this.#pausedUntil = Math.max(this.#pausedUntil, this.#clock.now() + retryAfterMs);
    this.#decrease();
  }

  #decrease(): void {
    const now = this.#clock.now();
    this.#clean = 0;
    if (now < this.#settled || this.#inFlight === 0) return;
    this.#settled = now + (this.#roundTrips.quantile(0.5) ?? FIRST_ROUND_TRIP_MS);
    this.#limit = Math.max(LEAST_LIMIT, Math.floor(Math.min(this.#limit, this.#inFlight) * DECREASE));
    // The rest of what was too much shows nothing of the new limit.
    this.#peak = 0;
  }
}
