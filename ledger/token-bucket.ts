const MINUTE_MS = 60_000;

/**
 * A leaky bucket of units per minute: taken units drain at an even rate. Any interval admits at most the limit plus
 * what drains in it. The limit is an argument of each call, so that a new one applies at once: after a reduction the
 * bucket is at most full, as the old amount would take hours to drain. Times are milliseconds of a monotonic clock;
 * units may be fractions.
 */
export class TokenBucket {
  #limit = 0;
  #used = 0;
  #at = 0;

  /** Takes all units, or none when they do not fit. */
  take(units: number, limit: number, now: number): boolean {
    const used = this.#usedAt(limit, now);
    if (used + units > limit) return false;
    this.#limit = limit;
    this.#set(used + units, now);
    return true;
  }

  /** Corrects the taken units by a difference; the bucket may exceed its limit then. */
  correct(units: number, now: number): void {
    this.#set(Math.max(0, this.#usedAt(this.#limit, now) + units), now);
  }

  /** Whole units that can be taken now. */
  remaining(limit: number, now: number): number {
    return Math.max(0, Math.floor(limit - this.#usedAt(limit, now)));
  }

  /** Milliseconds until `units` can be taken if none are taken before; infinite for more than the limit. */
  waitMs(units: number, limit: number, now: number): number {
    if (units > limit) return Number.POSITIVE_INFINITY;
    return Math.max(0, ((this.#usedAt(limit, now) + units - limit) * MINUTE_MS) / limit);
  }

  /** Milliseconds until the bucket is empty. */
  resetMs(limit: number, now: number): number {
    return (this.#usedAt(limit, now) * MINUTE_MS) / limit;
  }

  #usedAt(limit: number, now: number): number {
    const used = limit < this.#limit ? Math.min(this.#used, limit) : this.#used;
    return Math.max(0, used - (Math.max(0, now - this.#at) * limit) / MINUTE_MS);
  }

  #set(used: number, now: number): void {
    this.#used = used;
    this.#at = Math.max(now, this.#at);
  }
}
