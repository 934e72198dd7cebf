const MINUTE_MS = 60_000;

/**
 * A bucket of so many units a minute, as what is used of it: what was taken drains away at an even rate. In any stretch of
 * time no more is taken than the bucket holds and what drains meanwhile. The limit is named with each call, so that a new
 * one holds at once. Times are milliseconds of a monotonic clock; units may have fractions.
 */
export class TokenBucket {
  #used = 0;
  #at = 0;

  /** Takes them when there is room for all of them, else nothing. */
  take(units: number, limit: number, now: number): boolean {
    this.#drain(limit, now);
    if (this.#used + units > limit) return false;
    this.#used += units;
    return true;
  }

  /** Corrects what was taken, when it turned out to be more or less. The bucket may owe then. */
  correct(units: number, limit: number, now: number): void {
    this.#drain(limit, now);
    this.#used = Math.max(0, this.#used + units);
  }

  /** Whole units that may be taken now. */
  remaining(limit: number, now: number): number {
    this.#drain(limit, now);
    return Math.max(0, Math.floor(limit - this.#used));
  }

  /** Milliseconds until `units` can be taken, if nobody takes any before; infinite for more than the bucket holds. */
  waitMs(units: number, limit: number, now: number): number {
    if (units > limit) return Number.POSITIVE_INFINITY;
    this.#drain(limit, now);
    return Math.max(0, ((this.#used + units - limit) * MINUTE_MS) / limit);
  }

  /** Milliseconds until the bucket is as it was at first. */
  resetMs(limit: number, now: number): number {
    this.#drain(limit, now);
    return (this.#used * MINUTE_MS) / limit;
  }

  #drain(limit: number, now: number): void {
    const elapsed = Math.max(0, now - this.#at);
    this.#at = Math.max(now, this.#at);
    this.#used = Math.max(0, this.#used - (elapsed * limit) / MINUTE_MS);
  }
}
