import type { BudgetStatus } from "./budget-row.ts";

/**
 * | state | goes to | by |
 * |---|---|---|
 * | pending | running | claim: attempts + 1, before the line is dispatched |
 * | running | done, failed | commit: result, ledger row and batch counts in one transaction |
 * | running | pending | release (retryable failure), recover (server restart), engineDied |
 * | running | failed | engineDied, after LONE_DEATHS or SOLE_DEATHS |
 * | pending, running | cancelled, expired | end: with an error result, not charged |
 */
export type LineState = "pending" | "running" | "done" | "failed" | "cancelled" | "expired";

/** Lines in columns, so that they pass between threads as a few blocks of bytes, not as objects. */
export interface NewLines {
  /** Line number in the input file, from 1. */
  numbers: Uint32Array;
  customIds: string[];
  /** Bytes from the start of the input file. */
  offsets: Float64Array;
  /** Bytes, without the line end. */
  lengths: Uint32Array;
  /** Order of execution. */
  positions: Uint32Array;
  estimatedTokens: Uint32Array;
  /** The part of the estimate for the prompt. */
  promptTokens: Uint32Array;
  /** Choices that the line requests; 0 for a line that generates nothing. */
  choices: Uint32Array;
  /** Token limit of each choice; OPEN_ANSWER where the line has none. */
  maxTokens: Uint32Array;
}

/**
 * Milliseconds of the longest backoff between two attempts. A due time further ahead was computed before the wall clock
 * was set back, so such a line is due.
 */
export const LONGEST_LINE_WAIT_MS = 60_000;

/** Marks a choice whose only limit is the context. */
export const OPEN_ANSWER = 0xffffffff;

/** Prices at tier batch, in nano-dollars per token, and the longest prompt or answer, in tokens. */
export interface LineTerms {
  inputNano: number;
  outputNano: number;
  context: number;
}

/** Claimed lines, and batches whose next line was not claimed because a budget is used up. */
export interface Claimed {
  lines: ClaimedLine[];
  paused: { batchId: string; usedUp: BudgetStatus[] }[];
}

/**
 * One claim of one line. `attempt` is a fencing token: an operation with a claim that was released or ended since is
 * stale and changes nothing.
 */
export interface Claim {
  batchId: string;
  number: number;
  attempt: number;
}

export interface ClaimedLine extends Claim {
  customId: string;
  offset: number;
  length: number;
  estimatedTokens: number;
  /** The suspect group that it was claimed with; 0 for none. */
  suspect: number;
  /** Engine deaths while it was alone in the engine. */
  loneDeaths: number;
}

/** Lines that were in flight together when the engine died; they run again apart from all other lines. */
export interface SuspectGroup {
  suspect: number;
  /** Model of their batches; suspects of another model run in another engine. */
  model: string | null;
  pending: number;
  running: number;
  /** Time from which the first pending line may be claimed, Unix milliseconds (0: at once); null without a pending line. */
  dueMs: number | null;
}
