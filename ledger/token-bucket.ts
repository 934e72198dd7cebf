const MINUTE_MS = 60_000;

/**
 * A bucket of so many units a minute, as what is used of it: what was taken drains away at an even rate. In any stretch of
 * time no more is taken than the bucket holds and what drains meanwhile. The limit is named with each call, so that a new
 * one holds at once: a bucket that becomes smaller is full at most, since what a large one held would take it hours to
 * drain. Times are milliseconds of a monotonic clock; units may have fractions.
 */
export class TokenBucket {
  #limit = 0;
  #used = 0;
  #at = 0;

  /** Takes them when there is room for all of them, else nothing. */
  take(units: number, limit: number, now: number): boolean {
    const used = this.#usedAt(limit, now);
    if (used + units > limit) return false;
    this.#limit = limit;
    this.#set(used + units, now);
    return true;
  }

  /** Corrects what was taken, when it turned out to be more or less. The bucket may owe then. */
  correct(units: number, now: number): void {
    this.#set(Math.max(0, this.#usedAt(this.#limit, now) + units), now);
  }

  /** Whole units that may be taken now. */
  remaining(limit: number, now: number): number {
    return Math.max(0, Math.floor(limit - this.#usedAt(limit, now)));
  }

  /** Milliseconds until `units` can be taken, if nobody takes any before; infinite for more than the bucket holds. */
  waitMs(units: number, limit: number, now: number): number {
    if (units > limit) return Number.POSITIVE_INFINITY;
    return Math.max(0, ((this.#usedAt(limit, now) + units - limit) * MINUTE_MS) / limit);
  }

  /** Milliseconds until the bucket is as it was at first. */
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
