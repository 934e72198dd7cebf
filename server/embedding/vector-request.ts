import type { EmbeddingInput } from "../../engine/protocol/embedding.ts";
import type { OnlineTier } from "../../engine/protocol/request.ts";
import type { ModelTask } from "../admission/task-check.ts";

/** A valid body of an endpoint that computes vectors or ranks, with the writer of its answer. */
export interface VectorRequest {
  model: string;
  tier: OnlineTier;
  /** True where the client leaves the tier to the server. Absent in an API in which it cannot. */
  openTier?: boolean;
  task: ModelTask;
  inputs: EmbeddingInput[];
  /** Its fields that were accepted and not used. */
  ignored: readonly string[];
  /** Requested numbers of each vector; null for all. */
  dimensions: number | null;
  /** The end of a text that is longer than the context is cut off; else the request is refused. */
  truncate?: true;
  /** JSON text, with the fields of `mark` where the API has a place for them; written in slices of the event loop. */
  write(model: string, vectors: readonly Float32Array[], promptTokens: number, mark: object): Promise<string>;
}
