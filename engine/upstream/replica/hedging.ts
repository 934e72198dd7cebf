import type { Clock } from "../../../platform/clock.ts";
import { RecentTimes } from "./recent-times.ts";

/** Tokens of the longest prompt, by estimate, in each class but the last. */
const CLASSES = [256, 2048, 16_384];
/** Milliseconds after which a time to the first token says nothing of the present. */
const TTFT_AGE_MS = 600_000;
/** Times without which a class has no 95th percentile that means something. */
const LEAST_TIMES = 32;
/** Online requests for each one that may be hedged: 2 %. */
const REQUESTS_PER_HEDGE = 50;
/** Hedged requests that are saved up at most: a replica that stalls has all of its requests wait at once. */
const MOST_SAVED = 10;

/** The attempt that a hedged request went on with; neither of the two where both ended without content. */
export const HEDGE_RESULTS = ["first", "second", "neither"] as const;
export type HedgeResult = (typeof HEDGE_RESULTS)[number];

/**
 * Says when a request of one upstream that has shown nothing is sent to a second replica too, and how many are: a fiftieth of the
 * online requests at most, from none at the start.
 */
export class Hedging {
  readonly #times: readonly RecentTimes[];
  /** Online requests since the start, less those that were spent on hedged ones. */
  #requests = 0;

  constructor(clock: Pick<Clock, "now">) {
    this.#times = [...CLASSES, Number.POSITIVE_INFINITY].map(() => new RecentTimes(clock, TTFT_AGE_MS));
  }

  /** An online request was sent for the first time. */
  requested(): void {
    this.#requests = Math.min(MOST_SAVED * REQUESTS_PER_HEDGE, this.#requests + 1);
  }

  /** An online request has its first content. */
  begun(promptTokens: number, ttftMs: number): void {
    this.#timesOf(promptTokens).add(ttftMs);
  }

  /**
   * Milliseconds after which a request that has shown nothing is late: the 95th percentile of its class of prompt length. Null
   * while too few are known.
   */
  delayMs(promptTokens: number): number | null {
    const times = this.#timesOf(promptTokens);
    return times.count < LEAST_TIMES ? null : times.quantile(0.95);
  }

  /** True while `take` would succeed. */
  get free(): boolean {
    return this.#requests >= REQUESTS_PER_HEDGE;
  }

  /** A request is hedged, of which `free` was true. */
  take(): void {
    this.#requests -= REQUESTS_PER_HEDGE;
  }

  #timesOf(promptTokens: number): RecentTimes {
    const longer = CLASSES.filter((most) => promptTokens > most).length;
    return this.#times[longer]!;
  }
}
