import type { Clock } from "../../../platform/clock.ts";

/** Durations that are kept: enough for a p95. */
const KEPT = 64;

/** The latest durations of something, for their quantiles. */
export class RecentTimes {
  readonly #clock: Pick<Clock, "now">;
  readonly #maxAgeMs: number;
  #times: { ms: number; at: number }[] = [];

  /** @param maxAgeMs milliseconds after which a duration no longer counts */
  constructor(clock: Pick<Clock, "now">, maxAgeMs = Number.POSITIVE_INFINITY) {
    this.#clock = clock;
    this.#maxAgeMs = maxAgeMs;
  }

  /** The number of durations that count. */
  get count(): number {
    return this.#fresh().length;
  }

  add(ms: number): void {
    this.#times = [...this.#times, { ms, at: this.#clock.now() }].slice(-KEPT);
  }

  /** The smallest duration that a share `q`, 0 to 1, of the kept ones does not exceed; null where there is none. */
  quantile(q: number): number | null {
    const sorted = this.#fresh().sort((a, b) => a - b);
    return sorted[Math.max(0, Math.ceil(q * sorted.length) - 1)] ?? null;
  }

  #fresh(): number[] {
    const oldest = this.#clock.now() - this.#maxAgeMs;
    return this.#times.filter(({ at }) => at >= oldest).map(({ ms }) => ms);
  }
}
