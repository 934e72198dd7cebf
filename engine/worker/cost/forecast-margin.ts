/** Late steps that it is about. */
const REMEMBERED = 256;
/** Steps before it says anything, and steps between two looks at them: sorting them takes a few microseconds. */
const LEAST = 64;
const LOOK_EVERY = 16;
/** One step in twenty may take longer than the bound on it. */
const SHARE = 0.95;
/** A machine that stalls more than that is not to cost lower tiers more than a third of each step. */
const MOST = 1.5;

/**
 * How far steps of lower tiers alone run past their forecast. A bound on what such a step may take is a promise to the
 * online request that comes at its beginning, and a plan keeps it only if it leaves room for what no forecast knows: other
 * processes on the same cores, copies, a machine that others share. On a machine of its own this is next to nothing, on two
 * cores that clients share one step in twenty took 1.3 times its forecast. Pure; knows no clock.
 */
export class ForecastMargin {
  readonly #ratios = new Float64Array(REMEMBERED);
  #steps = 0;
  #factor = 1;

  /** What 19 of 20 steps stay within, in multiples of their forecast: from 1 to 1.5. */
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
