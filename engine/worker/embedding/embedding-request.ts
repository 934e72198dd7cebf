import type { Pooling } from "../../protocol/config.ts";
import type { EmbeddingRequest } from "../../protocol/embedding.ts";
import type { Tier } from "../../protocol/request.ts";
import { PooledVector } from "./pooling.ts";

/** A request for vectors that is not complete. */
export interface ActiveRequest {
  readonly id: number;
  readonly tier: Tier;
  readonly owner: string;
  readonly endpoint: string;
  started: boolean;
  /** Inputs without a vector. */
  missing: number;
  cancelled: boolean;
}

/** One input of a request, and its progress. */
export class QueuedInput {
  readonly request: ActiveRequest;
  readonly index: number;
  readonly tokens: readonly number[];
  readonly #pooling: Pooling;
  vector: PooledVector;
  computed = 0;
  /** Its sequence id in the context while it holds cells; −1 for none. */
  sequenceId = -1;

  constructor(request: ActiveRequest, index: number, tokens: readonly number[], pooling: Pooling) {
    this.request = request;
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

export function activeRequest({ id, tier, owner, endpoint, inputs }: EmbeddingRequest): ActiveRequest {
  return { id, tier, owner, endpoint, started: false, missing: inputs.length, cancelled: false };
}
