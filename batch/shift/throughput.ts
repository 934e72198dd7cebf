/** Work counts half after so much more of it: long enough to even out lines, short enough to follow a day's load. */
const HALF_LIFE_MS = 10 * 60_000;

/** What became of a stretch of time. */
export interface Stretch {
  ms: number;
  /** Of the engine, that batch work had: 0..1. */
  share: number;
  /** Lines that ended, and their estimated tokens. */
  ended: { lines: number; tokens: number };
  /** Lines that the engine had. */
  inEngine: number;
}

/**
 * What batch work would get through with all of the engine, from what it gets with its share. Feed it only with time in
 * which lines were in the engine, and with tokens in the unit of the backlog (the estimate of each line that ended), so
 * that an estimate that is wrong for all lines alike cancels out.
 */
export class Throughput {
  #tokens = 0;
  #shareMs = 0;
  /** How often as many lines have ended as the engine had. */
  #turns = 0;

  add({ ms, share, ended, inEngine }: Stretch): void {
    if (ms <= 0 || share <= 0) return;
    const kept = 0.5 ** (ms / HALF_LIFE_MS);
    this.#tokens = this.#tokens * kept + ended.tokens;
    this.#shareMs = this.#shareMs * kept + ms * share;
    this.#turns += ended.lines / Math.max(1, inEngine);
  }

  /**
   * Tokens per second at share 1; null until as many lines have ended as the engine has at a time. What has been computed
   * of lines that still run does not show, so before the first of them end the rate is far too low, and just after it far
   * too high or low, as they happen to be short or long.
   */
  get tokensPerSecond(): number | null {
    return this.#turns < 1 || this.#tokens === 0 ? null : (this.#tokens * 1000) / this.#shareMs;
  }
}
