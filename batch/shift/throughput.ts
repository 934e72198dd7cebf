/** Milliseconds of work after which earlier work counts half: averages over lines, and follows the load of a day. */
const HALF_LIFE_MS = 10 * 60_000;

/** One measured span of time. */
export interface ThroughputSample {
  ms: number;
  /** Share of the engine that batch work had, 0..1. */
  share: number;
  /** Lines that ended, and their estimated tokens. */
  ended: { lines: number; tokens: number };
  /** Lines in the engine. */
  inEngine: number;
}

/**
 * The throughput of batch work with all of the engine, from its throughput with its share. Samples are of time in which lines
 * were in the engine. Their tokens are in the unit of the backlog (the estimate of each line that ended), so an error that
 * is the same for all lines cancels out.
 */
export class Throughput {
  #tokens = 0;
  #shareMs = 0;
  /** Lines that have ended, in multiples of the lines in the engine. */
  #rounds = 0;

  add({ ms, share, ended, inEngine }: ThroughputSample): void {
    if (ms <= 0 || share <= 0) return;
    const kept = 0.5 ** (ms / HALF_LIFE_MS);
    this.#tokens = this.#tokens * kept + ended.tokens;
    this.#shareMs = this.#shareMs * kept + ms * share;
    this.#rounds += ended.lines / Math.max(1, inEngine);
  }

  /**
   * Tokens per second at share 1; null until as many lines have ended as the engine has at a time. The computed tokens of
   * lines that still run are not counted. Before the first lines end the rate would therefore be far too low, and just
   * after it far too high or low, by whether these lines are short or long.
   */
  get tokensPerSecond(): number | null {
    return this.#rounds < 1 || this.#tokens === 0 ? null : (this.#tokens * 1000) / this.#shareMs;
  }
}
