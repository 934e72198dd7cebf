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

/** A line as validation found it. */
export interface NewLine {
  /** 1-based, of the input file. */
  number: number;
  customId: string;
  /** Bytes from the start of the input file. */
  offset: number;
  /** Bytes, without the line end. */
  length: number;
  /** Sort key: lines run in its order, so that prompts which begin alike run one after the other. */
  prefix: string;
  estimatedTokens: number;
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
