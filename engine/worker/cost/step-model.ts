import type { Fit } from "../../protocol/step.ts";
import { solveNonNegative } from "./least-squares.ts";

export type { Fit };

/** Content of a step, in tokens. */
export interface StepShape {
  prefill: number;
  decode: number;
  /** The positions over which its decodes attend, summed over the decodes. */
  kv: number;
  /** The same for its prompt tokens, in multiples of the cost of a position to a token of a long chunk (Tile). */
  read: number;
  /** Passes over the weights; always one where a pass has any tokens. */
  passes: number;
}

/** The features in the order of the coefficients in Fit. */
function features({ prefill, decode, kv, read, passes }: StepShape): number[] {
  return [1, prefill, decode, kv, read, passes - 1];
}

/**
 * Dependence of attention's cost on the length of a chunk. llama.cpp's flash attention on a CPU computes 64 and more tokens of a
 * sequence in tiles, which read each cell of the cache once for all of them; with fewer, every token reads the cache by itself.
 */
export interface Tile {
  /** Fewest tokens of one sequence in a step that are computed in tiles; 1 where the length makes no difference. */
  rows: number;
  /** The cost of a position to a token of a shorter chunk, in multiples of its cost to a token of such a chunk. */
  below: number;
}

export const NO_TILE: Tile = { rows: 1, below: 1 };

/** The step model as the planner uses it. */
export interface StepCosts {
  /** Milliseconds, finite and not negative. */
  predict(shape: StepShape): number;
  /** Most tokens of each kind for which a prediction is reliable. */
  readonly reach: Readonly<Pick<StepShape, "prefill" | "decode">>;
  /** NO_TILE where it is absent. */
  readonly tile?: Tile;
}

/** Predicted cost of a planned step. */
export interface Forecast {
  shape: StepShape;
  predictedMs: number;
  /** The same of its online part alone; 0 without one. */
  onlineMs: number;
  onlineTokens: number;
  lowerTokens: number;
}

export interface FitError {
  /** Steps measured since the start. */
  samples: number;
  /** Median of |measured − predicted| ÷ measured over the latest steps; 0 before the first. */
  median: number;
  mean: number;
}

/** Slower than nearly every useful machine and model: until steps are measured, chunks are short. */
const PRIOR: Fit = { o: 10, p: 5, d: 10, k: 0.001, r: 0.001, m: 10 };
const PRIORS = Object.values(PRIOR);
const SIZE = PRIORS.length;
/** The weight of the prior in measured steps; the prior lasts where no step is measured. */
const PRIOR_WEIGHT = 0.01;
/** The share of the information in a step's direction that the step replaces: a memory of 25 such steps. */
const FORGET = 0.04;
/** The same once the machine has changed. */
const FORGET_FAST = 0.3;
/** A step is a surprise above this multiple of its prediction, or below the reciprocal. */
const SURPRISE = 1.5;
/** Consecutive surprises after which the machine has changed. */
const SURPRISES_UNTIL_DRIFT = 5;
/** A step is an outlier above this multiple of its prediction, unless such steps continue. */
const OUTLIER = 4;
/** Steps of one kind before the fit is more than the prior for it, and a slow step counts as an outlier. */
const SETTLED = 16;
const OUTLIER_WEIGHT = 0.1;
/** Latest steps in the error statistics. */
const REMEMBERED = 256;
const LEAST_REACH = { prefill: 32, decode: 4 };

type Kind = "prefill" | "decode";

/**
 * The cost of a step, learned from measured steps: recursive least squares on relative errors, with coefficients that are
 * never negative. Pure; without a clock.
 *
 * It forgets only in the direction of the measured step (Kulhavý's directional forgetting, in information form), so an hour of
 * pure decodes does not change the coefficients of prefill. A direction that was never measured keeps the prior. A step far
 * slower than predicted (a page fault, another process) counts little, and only up to a bound; when such steps continue, the
 * machine has changed, and the model follows fast. A linear fit to few shapes is unreliable for much larger ones: `reach` is
 * twice the largest measured.
 */
export class StepModel implements StepCosts {
  /** Information matrix and vector, over coefficients in multiples of the prior's. */
  readonly #information = new Float64Array(SIZE * SIZE);
  readonly #target = new Float64Array(SIZE).fill(PRIOR_WEIGHT);
  readonly #surprises: Record<Kind, number> = { prefill: 0, decode: 0 };
  readonly #samples: Record<Kind, number> = { prefill: 0, decode: 0 };
  readonly #most: Record<Kind, number> = { prefill: 0, decode: 0 };
  readonly #errors = new Float64Array(REMEMBERED);
  readonly tile: Tile;
  #fit: Fit = PRIOR;

  constructor(tile = NO_TILE) {
    this.tile = tile;
    for (let i = 0; i < SIZE; i++) this.#information[(SIZE + 1) * i] = PRIOR_WEIGHT;
  }

  get fit(): Readonly<Fit> {
    return this.#fit;
  }

  /** Steps measured since the start: with prompt tokens, and of decodes alone. */
  get steps(): Readonly<Record<Kind, number>> {
    return this.#samples;
  }

  /** Whether enough decodes were measured for the fit to describe this machine. */
  get settled(): boolean {
    return this.#samples.decode >= SETTLED;
  }

  get reach(): Record<Kind, number> {
    return {
      prefill: Math.max(LEAST_REACH.prefill, 2 * this.#most.prefill),
      decode: Math.max(LEAST_REACH.decode, 2 * this.#most.decode),
    };
  }

  predict({ prefill, decode, kv, read, passes }: StepShape): number {
    const { o, p, d, k, r, m } = this.#fit;
    return o + p * prefill + d * decode + k * kv + r * read + m * (passes - 1);
  }

  /** Learns from steps that were measured for calibration before the first request. */
  calibrate(measured: Iterable<{ shape: StepShape; ms: number }>): void {
    for (const { shape, ms } of measured) {
      if (!(ms > 0 && Number.isFinite(ms))) continue;
      this.#learn(shape, ms, 1, 0);
      this.#reached(shape);
    }
  }

  /** Learns from a step that took `ms`; a duration that no clock can measure is ignored. */
  observe(shape: StepShape, ms: number): void {
    if (!(ms > 0 && Number.isFinite(ms))) return;
    const kind = shape.prefill > 0 ? "prefill" : "decode";
    const predicted = this.predict(shape);
    this.#errors[(this.#samples.prefill + this.#samples.decode) % REMEMBERED] = Math.abs(ms - predicted) / ms;

    const slow = ms > OUTLIER * predicted;
    const surprise = ms > SURPRISE * predicted || ms < predicted / SURPRISE;
    this.#surprises[kind] = surprise ? this.#surprises[kind] + 1 : 0;
    if (this.#surprises[kind] > SURPRISES_UNTIL_DRIFT) this.#learn(shape, ms, 1, FORGET_FAST);
    else if (slow && this.#samples[kind] >= SETTLED)
      this.#learn(shape, OUTLIER * predicted, OUTLIER_WEIGHT, OUTLIER_WEIGHT * FORGET);
    else this.#learn(shape, ms, 1, FORGET);

    this.#samples[kind]++;
    this.#reached(shape);
  }

  #reached({ prefill, decode }: StepShape): void {
    this.#most.prefill = Math.max(this.#most.prefill, prefill);
    this.#most.decode = Math.max(this.#most.decode, decode);
  }

  get error(): FitError {
    const samples = this.#samples.prefill + this.#samples.decode;
    const late = this.#errors.subarray(0, Math.min(samples, REMEMBERED)).toSorted();
    if (late.length === 0) return { samples, median: 0, mean: 0 };
    const mean = late.reduce((sum, error) => sum + error, 0) / late.length;
    return { samples, median: late[late.length >> 1]!, mean };
  }

  #learn(shape: StepShape, ms: number, weight: number, forget: number): void {
    // Errors are relative: a step of 1 ms counts as much as one of 1 s. The prediction is half of the scale: otherwise a step
    // that was slow by chance would seem exact, and one that was fast would not.
    const scale = (this.predict(shape) + ms) / 2;
    const x = features(shape).map((value, i) => (value * PRIORS[i]!) / scale);
    const y = ms / scale;
    const known = x.map((_, i) => x.reduce((sum, value, j) => sum + this.#information[SIZE * i + j]! * value, 0));
    const inDirection = x.reduce((sum, value, i) => sum + value * known[i]!, 0);
    const explained = x.reduce((sum, value, i) => sum + value * this.#target[i]!, 0);
    for (let i = 0; i < SIZE; i++) {
      const forgotten = (forget * known[i]!) / inDirection;
      for (let j = 0; j < SIZE; j++) this.#information[SIZE * i + j]! += weight * x[i]! * x[j]! - forgotten * known[j]!;
      this.#target[i]! += weight * x[i]! * y - forgotten * explained;
    }
    const [o, p, d, k, r, m] = solveNonNegative(this.#information, this.#target).map((value, i) => value * PRIORS[i]!);
    this.#fit = { o: o!, p: p!, d: d!, k: k!, r: r!, m: m! };
  }
}
