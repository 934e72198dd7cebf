/** Latest steps that count. */
const REMEMBERED = 256;
/** Steps before the first value, and between two values: sorting the steps takes a few microseconds. */
const LEAST = 64;
const LOOK_EVERY = 16;
/** One step in twenty may take longer than the bound on it. */
const SHARE = 0.95;
/** The largest margin: a machine that stalls more often costs lower tiers at most a third of each step. */
const MOST = 1.5;

/**
 * The excess of steps of lower tiers alone over their forecast. The bound on such a step limits the queue wait of an
 * online request that arrives at its beginning, and a plan keeps it only if it leaves room for delays that no forecast
 * includes: other processes on the same cores, copies, a shared machine. On a dedicated machine this is next to nothing; on
 * two cores shared with clients, one step in twenty took 1.3 times its forecast. Pure; without a clock.
 */
export class ForecastMargin {
  readonly #ratios = new Float64Array(REMEMBERED);
  #steps = 0;
  #factor = 1;

  /** The bound within which 19 of 20 steps stay, in multiples of their forecast: from 1 to 1.5. */
  get factor(): number {
    return this.#factor;
  }

  observe(predictedMs: number, ms: number): void {
    if (!(predictedMs > 0 && ms > 0 && Number.isFinite(ms))) return;
    this.#ratios[this.#steps++ % REMEMBERED] = ms / predictedMs;
    if (this.#steps < LEAST || this.#steps % LOOK_EVERY !== 0) return;
    const late = this.#ratios.subarray(0, Math.min(this.#steps, REMEMBERED)).toSorted();
    this.#factor = Math.min(MOST, Math.max(1, late[Math.ceil(SHARE * late.length) - 1]!));
  }
}
