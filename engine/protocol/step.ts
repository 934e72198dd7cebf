import type { SequenceOutput, SequenceStart } from "./output.ts";
import type { Tier } from "./request.ts";

/** The part of the time of a step or embedding batch that is attributed to one tier and endpoint. */
export interface TimeShare {
  tier: Tier;
  endpoint: string;
  ms: number;
}

/** Measurements of one step, in milliseconds and counts. */
export interface StepStats {
  planMs: number;
  fillMs: number;
  decodeMs: number;
  sampleMs: number;
  /** Detokenizing and stop strings of the previous step, and posting its message: done while this one computes. */
  textMs: number;
  postMs: number;
  /** From the start of this step's plan to the end of its sampling. */
  totalMs: number;
  /** Predictions of decodeMs + sampleMs, for the step and for its online part alone (0 without one). */
  predictedMs: number;
  onlineMs: number;
  prefillTokens: number;
  decodeTokens: number;
  /** The same tokens by tier: priority and default; flex and batch. */
  onlineTokens: number;
  lowerTokens: number;
  /** Sequences in the plan of this step. */
  batchSize: number;
  running: number;
  waiting: number;
  cellsUsed: number;
  cells: number;
  /** Sequences that were preempted before this step. */
  preempted: number;
  /** Idle prefixes that were evicted from the cache before this step; of these, those that were offloaded to host memory. */
  evicted: number;
  offloaded: number;
  /** Tokens that were restored from host memory. */
  restored: number;
  /** Bytes of offloaded prefixes. */
  offloadedBytes: number;
  /** The parts of `totalMs`. */
  shares: TimeShare[];
}

/**
 * The cost of a step: t = o + p·prefill + d·decode + k·kv + r·read, and m more for each pass over the weights past the
 * first, of which a unified cache has none. All in milliseconds. `kv` are the positions that decodes attend over, `read` those
 * of prompts: a chunk shares the work on a position among its tokens, a decode does not.
 */
export interface Fit {
  o: number;
  p: number;
  d: number;
  k: number;
  r: number;
  m: number;
}

/** Objectives of online work in milliseconds: the time to the first token, and between two tokens of a stream. */
export interface Objectives {
  ttftMs: number;
  itlMs: number;
}

/** The work of one tier in an engine. */
export interface TierBacklog {
  /** Waiting and running sequences. */
  waiting: number;
  running: number;
  /** Prompt tokens of both that are not computed yet, without those that the cache is expected to have by then. */
  prefill: number;
  /** Tokens that running sequences have generated, and the most that they may still generate. */
  written: number;
  left: number;
}

/** Steps in a row without flex beside online work. One step in 128 past the tax does not show in the 99th percentile. */
export const FLEX_STEPS = 128;

/** The work in an engine and its cost there: the input of a predicted wait. */
export interface Backlog {
  tiers: Record<Tier, TierBacklog>;
  /** Flex sequences that may run at once; for the other online tiers it is `ModelFacts.sequences`. */
  flexPlaces: number;
  /** Positions that the next token of a running sequence attends over, on average. */
  kvPerDecode: number;
  /** Null before enough steps are measured. */
  fit: Fit | null;
  objectives: Objectives;
  /** True where steps of streams and steps of prompts alternate. */
  alternatingSteps: boolean;
}

/** One per step: all results since the previous one. */
export interface StepMessage {
  type: "step";
  backlog: Backlog;
  /** Milliseconds since the step began. */
  agoMs: number;
  /** The sequences that had their first step. */
  started: SequenceStart[];
  outputs: SequenceOutput[];
  stats: StepStats;
}
