import type { BatchEndpoint } from "../../openapi/resources/batches.ts";
import type { BudgetStatus } from "../../store/types/budget-row.ts";

/** A batch in progress, as its lane sees it. */
export interface LaneBatch {
  id: string;
  owner: string;
  /** The API key that it was created with; null while keys are off. */
  keyId: string | null;
  endpoint: BatchEndpoint;
  /** Unix seconds. */
  expiresAt: number;
  inputPath: string;
}

/** A batch that has joined a lane. */
export class ActiveBatch {
  readonly batch: LaneBatch;
  /** No further line of it starts. */
  withdrawn = false;
  /** Monotonic milliseconds until which it is taken to have no line that is due: a wall clock may be set back. */
  restUntil = 0;
  /** Budgets that had nothing left for its next line when it was last looked for; empty: none held it up. */
  usedUp: readonly BudgetStatus[] = [];
  #news = false;
  #hear: (() => void) | null = null;

  constructor(batch: LaneBatch) {
    this.batch = batch;
  }

  /** No line may be left: whoever runs the batch should look. */
  tell(): void {
    const hear = this.#hear;
    this.#news = hear === null;
    this.#hear = null;
    hear?.();
  }

  /** Resolves at the next `tell`, or at once after one that nobody heard. */
  news(): Promise<void> {
    if (this.#news) {
      this.#news = false;
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      this.#hear = resolve;
    });
  }
}

/** Those that may have a line to run, the nearest deadline first. `nowMs` is monotonic. */
export function dueBatches(members: Iterable<ActiveBatch>, nowMs: number): ActiveBatch[] {
  return [...members]
    .filter(({ withdrawn, restUntil }) => !withdrawn && restUntil <= nowMs)
    .sort((a, b) => a.batch.expiresAt - b.batch.expiresAt);
}
