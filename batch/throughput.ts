/** Work counts half after so much more of it: long enough to even out lines, short enough to follow a day's load. */
const HALF_LIFE_MS = 10 * 60_000;

/**
 * What batch work would get through with all of the engine, from what it gets with its share. Feed it only with time in
 * which lines were in the engine, and with tokens in the unit of the backlog (the estimate of each line that ended), so
 * that an estimate that is wrong for all lines alike cancels out.
 */
export class Throughput {
  #tokens = 0;
  #shareMs = 0;

  /** Lines of `tokens` ended in the last `ms`, in which batch work had this share (0..1) of the engine. */
  add(tokens: number, ms: number, share: number): void {
    if (ms <= 0 || share <= 0) return;
    const kept = 0.5 ** (ms / HALF_LIFE_MS);
    this.#tokens = this.#tokens * kept + tokens;
    this.#shareMs = this.#shareMs * kept + ms * share;
  }

  /** Tokens per second at share 1; null until a line has ended. */
  get tokensPerSecond(): number | null {
    return this.#tokens === 0 ? null : (this.#tokens * 1000) / this.#shareMs;
  }
}
