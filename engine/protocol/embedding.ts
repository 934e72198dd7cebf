import type { Tier } from "./request.ts";
import type { TimeShare } from "./step.ts";

/** One text to be read: `pair` is a query and a document, told to a model that ranks. */
export type EmbeddingInput =
  | { kind: "text"; text: string }
  | { kind: "tokens"; tokens: number[] }
  | { kind: "pair"; query: string; document: string };

/** Texts whose meaning is wanted as one vector each; a model that ranks gives a vector of one score. */
export interface EmbeddingRequest {
  /** Unique among all requests. */
  id: number;
  tier: Tier;
  /** Whose it is, as an opaque name. */
  owner: string;
  /** What it came by: its time is told under this name. */
  endpoint: string;
  inputs: EmbeddingInput[];
}

/** One per piece of embedding work: what one decode between two steps has brought. */
export interface PieceMessage {
  type: "piece";
  /** Requests whose first input began. */
  started: number[];
  /** Of length 1, or of scores as they come from a model that ranks. */
  vectors: { id: number; index: number; vector: Float32Array }[];
  stats: PieceStats;
}

export interface PieceStats {
  /** Its decode, and what was read of it. */
  ms: number;
  /** Whether somebody waits for it: it was of tier priority or default. */
  online: boolean;
  /** Inputs and tokens that it computed. */
  inputs: number;
  tokens: number;
  /** Of `ms`. */
  shares: TimeShare[];
}
