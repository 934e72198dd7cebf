import type { Pooling } from "../../protocol/config.ts";

/** The vector of one input, combined from the batches in which its tokens were computed. */
export class PooledVector {
  readonly #pooling: Pooling;
  #vector: Float32Array | null = null;
  #tokens = 0;

  constructor(pooling: Pooling) {
    this.#pooling = pooling;
  }

  /** Adds the vector that llama.cpp pooled of the next `tokens` of the input. */
  add(pooled: Float32Array, tokens: number): void {
    const before = this.#vector;
    if (before === null || this.#pooling === "last" || this.#pooling === "rank") this.#vector = pooled;
    else if (this.#pooling === "mean") weigh(before, this.#tokens, pooled, tokens);
    this.#tokens += tokens;
  }

  /** The vector with length 1; scores are not normalized. */
  finish(): Float32Array {
    const vector = this.#vector ?? new Float32Array(0);
    return this.#pooling === "rank" ? vector : normalize(vector);
  }
}

function weigh(mean: Float32Array, count: number, next: Float32Array, more: number): void {
  const share = more / (count + more);
  for (let i = 0; i < mean.length; i++) mean[i]! += (next[i]! - mean[i]!) * share;
}

/** Divides a vector by its length, in place; a zero vector stays. */
export function normalize(vector: Float32Array): Float32Array {
  let squares = 0;
  for (const value of vector) squares += value * value;
  if (squares === 0) return vector;
  const scale = 1 / Math.sqrt(squares);
  for (let i = 0; i < vector.length; i++) vector[i]! *= scale;
  return vector;
}
