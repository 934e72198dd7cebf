import { durationMs, type HeaderOf, LIMITS, numberOf } from "../answer/requested-wait.ts";

/** Shares of a limit: with no more than the first left flex and batch pause, until about the second is there again. */
const LITTLE = 0.1;
const ENOUGH = 0.2;
/** Milliseconds of a pause at most: the limit is then read again from the next answer. */
const LONGEST_MS = 60_000;

/** The limits that a hosted API reports with each answer: what is left of them, and when they are full again. */
export class ReportedLimits {
  /** The most of each limit that was reported: some APIs leave the limit itself out. */
  readonly #most = new Map<string, number>();
  #pausedUntil = Number.NEGATIVE_INFINITY;

  /** Milliseconds until enough is left for flex and batch; 0 where it is now. */
  pausedMs(now: number): number {
    return Math.max(0, this.#pausedUntil - now);
  }

  read(header: HeaderOf, now: number): void {
    for (const limit of LIMITS) {
      const left = numberOf(header(`x-ratelimit-remaining-${limit}`));
      const resetMs = durationMs(header(`x-ratelimit-reset-${limit}`));
      if (left === null) continue;
      const stated = numberOf(header(`x-ratelimit-limit-${limit}`));
      const most = stated ?? Math.max(left, this.#most.get(limit) ?? 0);
      this.#most.set(limit, most);
      if (resetMs === null || left > most * LITTLE) continue;
      // The limit fills evenly, or all at once at its reset: then the next answer pauses again.
      const share = most === left ? 1 : (most * ENOUGH - left) / (most - left);
      this.#pausedUntil = Math.max(this.#pausedUntil, now + Math.min(LONGEST_MS, resetMs * share));
    }
  }
}
