import type { Tier } from "./request.ts";
import type { TimeShare } from "./step.ts";

/** One text to embed; `pair` is a query and a document for a model that ranks. */
export type EmbeddingInput =
  | { kind: "text"; text: string }
  | { kind: "tokens"; tokens: number[] }
  | { kind: "pair"; query: string; document: string };

/** Texts to turn into one vector each; a model that ranks gives a vector of one score. */
export interface EmbeddingRequest {
  /** Unique among all requests. */
  id: number;
  tier: Tier;
  /** An opaque name. */
  owner: string;
  /** The path of the request; its time is reported under it. */
  endpoint: string;
  inputs: EmbeddingInput[];
  /** The end of a text that is longer than the context is cut off; else the request fails. */
  truncate?: true;
}

/** One per embedding batch, which is one decode between two steps. */
export interface PieceMessage {
  type: "piece";
  /** Requests whose first input is in this batch. */
  started: number[];
  /** Of length 1; raw scores from a model that ranks. */
  vectors: { id: number; index: number; vector: Float32Array }[];
  stats: PieceStats;
}

export interface PieceStats {
  /** Milliseconds of its decode and of reading its vectors. */
  ms: number;
  /** True for tiers priority and default. */
  online: boolean;
  /** Computed inputs and tokens. */
  inputs: number;
  tokens: number;
  /** The parts of `ms`. */
  shares: TimeShare[];
}
