import type { Clock } from "../../../platform/clock.ts";

/** Retries that a request adds to the budget. */
const SHARE = 0.1;
/** Retries that are saved up at most. */
const MOST_SAVED = 100;
/** Without any traffic before, so many retries, and one more each second. */
const FLOOR = 10;
const FLOOR_PER_MS = 1 / 1000;

/**
 * Bounds the retries at one upstream by a tenth of its requests: an outage must not double the load. Retries of requests whose
 * replica is lost are free where another one takes requests: the load moves there, and the breaker bounds how many.
 */
export class RetryBudget {
  readonly #clock: Pick<Clock, "now">;
  #saved = FLOOR;
  #filledAt: number;

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
    this.#filledAt = clock.now();
  }

  /** A request was sent for the first time. */
  requested(): void {
    this.#fill();
    this.#saved = Math.min(MOST_SAVED, this.#saved + SHARE);
  }

  /** Takes one retry from the budget; false where none is left. */
  take(): boolean {
    this.#fill();
    // Tenths do not add up to whole numbers exactly.
    if (this.#saved < 1 - 1e-9) return false;
    this.#saved = Math.max(0, this.#saved - 1);
    return true;
  }

  #fill(): void {
    const now = this.#clock.now();
    if (this.#saved < FLOOR) this.#saved = Math.min(FLOOR, this.#saved + (now - this.#filledAt) * FLOOR_PER_MS);
    this.#filledAt = now;
  }
}

/** Milliseconds that the first retry of an online request waits at most; they double with each further one. */
const FIRST_MS = 50;
const LONGEST_MS = 5000;

/**
 * Milliseconds until the n-th retry (from 1), anywhere between none and the longest ("full jitter"): requests that failed
 * together do not come back together. An upstream's own wait comes before it.
 * @param random from 0 to 1
 */
export function retryDelayMs(retry: number, random: number, retryAfterMs: number | null = null): number {
  const longest = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(retry - 1, 10));
  return (retryAfterMs ?? 0) + random * longest;
}
