import type { Pooling } from "../../protocol/config.ts";
import type { EmbeddingRequest } from "../../protocol/embedding.ts";
import type { Tier } from "../../protocol/request.ts";
import { PooledVector } from "./pooling.ts";

/** One request for vectors that is at work. */
export interface Reading {
  readonly id: number;
  readonly tier: Tier;
  readonly owner: string;
  readonly endpoint: string;
  started: boolean;
  /** Inputs that have no vector yet. */
  missing: number;
  cancelled: boolean;
}

/** One input of it, as far as it is computed. */
export class InputReading {
  readonly reading: Reading;
  readonly index: number;
  readonly tokens: readonly number[];
  readonly #pooling: Pooling;
  vector: PooledVector;
  computed = 0;
  /** Its sequence in the context while it holds cells; −1 for none. */
  place = -1;

  constructor(reading: Reading, index: number, tokens: readonly number[], pooling: Pooling) {
    this.reading = reading;
    this.index = index;
    this.tokens = tokens;
    this.#pooling = pooling;
    this.vector = new PooledVector(pooling);
  }

  startOver(): void {
    this.computed = 0;
    this.vector = new PooledVector(this.#pooling);
  }
}

export function newReading({ id, tier, owner, endpoint, inputs }: EmbeddingRequest): Reading {
  return { id, tier, owner, endpoint, started: false, missing: inputs.length, cancelled: false };
}
