import type { Standing } from "./budget-row.ts";

/**
 * | state | goes to | by |
 * |---|---|---|
 * | pending | running | claim: attempts + 1, before the line is dispatched |
 * | running | done, failed | commit: result, ledger row and batch counts in one transaction |
 * | running | pending | release (passing fault), recover (server restart), engineDied |
 * | running | failed | engineDied, when it was alone in the engine too often |
 * | pending, running | cancelled, expired | end: with an error result, not charged |
 */
export type LineState = "pending" | "running" | "done" | "failed" | "cancelled" | "expired";

/**
 * Lines as validation found them, one column each, so that they pass from thread to thread as a few blocks of bytes and
 * not as objects.
 */
export interface NewLines {
  /** 1-based, of the input file. */
  numbers: Uint32Array;
  customIds: string[];
  /** Bytes from the start of the input file. */
  offsets: Float64Array;
  /** Bytes, without the line end. */
  lengths: Uint32Array;
  /** Lines run in this order. */
  positions: Uint32Array;
  estimatedTokens: Uint32Array;
  /** Of the estimate, those of the prompt. */
  promptTokens: Uint32Array;
  /** Answers of a line; 0 for one that generates nothing. */
  choices: Uint32Array;
  /** Most tokens of each; OPEN_ANSWER where the line names none. */
  maxTokens: Uint32Array;
}

/**
 * The longest that a line waits between two attempts, in milliseconds. One whose time is further away was given it by a
 * wall clock that was set back since, and is due.
 */
export const LONGEST_LINE_WAIT_MS = 60_000;

/** An answer without a bound but the context. */
export const OPEN_ANSWER = 0xffffffff;

/** What tokens cost at tier batch, in nano-dollars each, and how many of them a prompt or an answer can have. */
export interface LineTerms {
  inputNano: number;
  outputNano: number;
  context: number;
}

/** Lines that were claimed, and batches whose next line was not because a budget of theirs is used up. */
export interface Claimed {
  lines: ClaimedLine[];
  paused: { batchId: string; usedUp: Standing[] }[];
}

/**
 * One claim of one line. `attempt` fences it: an answer to a claim that was released or ended since is stale and changes
 * nothing.
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
  /** 0, or the suspect group that it was claimed with. */
  suspect: number;
  /** Engine deaths with nothing else in the engine. */
  loneDeaths: number;
}

/** Lines that were in the engine together when it died, and are rerun apart from all others. */
export interface SuspectGroup {
  suspect: number;
  /** Of the batches that the lines belong to; suspects of another model are in another engine. */
  model: string | null;
  pending: number;
  running: number;
  /** When the first pending line may be claimed, Unix milliseconds (0: at once); null without a pending line. */
  dueMs: number | null;
}
