/** State of a batch in progress that its row does not have. */
export interface BatchProgress {
  phase: string;
  reason: string;
  /** 1 is the batch that ends first. */
  position: number | null;
  etaMs: number | null;
  /** Reason that its next line may not run at any share; null when it may. */
  paused: string | null;
  /** Estimated tokens per second of this model's batch lines with their share of the engine; null until measured. */
  tokensPerSecond: number | null;
  linesInEngine: number;
}
