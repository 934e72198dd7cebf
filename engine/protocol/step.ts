import type { SequenceOutput, SequenceStart } from "./output.ts";
import type { Tier } from "./request.ts";

/** The part of a step's or a piece's time that work of one tier from one endpoint is taken to have needed. */
export interface TimeShare {
  tier: Tier;
  endpoint: string;
  ms: number;
}

/** What one step did, in milliseconds and counts. */
export interface StepStats {
  planMs: number;
  fillMs: number;
  decodeMs: number;
  sampleMs: number;
  /** Detokenizing and stop strings of the step before, and posting its message: done while this one computes. */
  textMs: number;
  postMs: number;
  /** From the start of this step's plan to the end of its sampling. */
  totalMs: number;
  /** What the step model said of decodeMs + sampleMs before the step; and of its online part alone, 0 without one. */
  predictedMs: number;
  onlineMs: number;
  prefillTokens: number;
  decodeTokens: number;
  /** The same tokens by tier: priority and default; flex and batch. */
  onlineTokens: number;
  lowerTokens: number;
  /** Sequences in this step's plan. */
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
  /** Of `totalMs`. */
  shares: TimeShare[];
}

/**
 * The cost of a step: t = o + p·prefill + d·decode + k·kv + r·read, and m more for each pass over the weights past the
 * first; a unified cache takes no other. All in milliseconds. `kv` are the positions that decodes attend over, `read` those
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

/** Of online work in milliseconds: the time to the first token, and between two tokens of a stream. */
export interface Objectives {
  ttftMs: number;
  itlMs: number;
}

/** What an engine has to do for one tier. */
export interface TierBacklog {
  /** Sequences that wait for a place, and those that run. */
  waiting: number;
  running: number;
  /** Prompt tokens that both have still to compute; without those that the cache is taken to have by then. */
  prefill: number;
  /** Tokens that those that run have generated, and that they may still generate at most. */
  written: number;
  left: number;
}

/** Steps in a row that may leave flex out for online work. One step in 128 past the tax does not show in the 99th percentile. */
export const FLEX_STEPS = 128;

/** What an engine has to do and what that costs there, for whoever decides whether it gets more. */
export interface Backlog {
  tiers: Record<Tier, TierBacklog>;
  /** Sequences of flex that may run at once; of online tiers it is `ModelFacts.sequences`. */
  flexPlaces: number;
  /** Positions that the next token of a running sequence attends over, on average. */
  kvPerDecode: number;
  /** Null until enough steps are measured. */
  fit: Fit | null;
  objectives: Objectives;
  /** Whether streams and prompts have steps of their own, by turns. */
  turns: boolean;
}

/** One per step: everything that became known since the last one. */
export interface StepMessage {
  type: "step";
  backlog: Backlog;
  /** Milliseconds since the step began. */
  agoMs: number;
  /** The sequences of which this step was the first. */
  started: SequenceStart[];
  outputs: SequenceOutput[];
  stats: StepStats;
}
