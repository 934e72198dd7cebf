import type { BatchEndpoint } from "../../openapi/resources/batches.ts";
import type { BudgetStatus } from "../../store/types/budget-row.ts";

/** A batch in progress, as a line dispatcher needs it. */
export interface DispatchedBatch {
  id: string;
  owner: string;
  /** The API key that it was created with; null while keys are off. */
  keyId: string | null;
  endpoint: BatchEndpoint;
  /** Unix seconds. */
  expiresAt: number;
  inputPath: string;
}

/** A batch whose lines a dispatcher runs. */
export class ActiveBatch {
  readonly batch: DispatchedBatch;
  /** True once no further line of it may start. */
  withdrawn = false;
  /** Monotonic milliseconds until which it is taken to have no line that is due: a wall clock may be set back. */
  restUntil = 0;
  /** Budgets that had nothing left for its next line at the last claim; empty while none blocks it. */
  usedUp: readonly BudgetStatus[] = [];
  /** Faults of the server at lines, by their numbers; attempts that met passing faults are none. */
  readonly #faults = new Map<number, number>();
  #drained = false;
  #resolve: (() => void) | null = null;

  constructor(batch: DispatchedBatch) {
    this.batch = batch;
  }

  /** The faults at a line, with this one. They are counted anew after a restart of the server. */
  addFault(line: number): number {
    const faults = (this.#faults.get(line) ?? 0) + 1;
    this.#faults.set(line, faults);
    return faults;
  }

  /** No line may be left: its lifecycle checks. */
  signalDrained(): void {
    const resolve = this.#resolve;
    this.#drained = resolve === null;
    this.#resolve = null;
    resolve?.();
  }

  /** Resolves at the next `signalDrained`, or at once after a signal that no call awaited. */
  drained(): Promise<void> {
    if (this.#drained) {
      this.#drained = false;
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }
}

/** The batches that may have a line to run, the nearest deadline first. `nowMs` is monotonic. */
export function dueBatches(batches: Iterable<ActiveBatch>, nowMs: number): ActiveBatch[] {
  return [...batches]
    .filter(({ withdrawn, restUntil }) => !withdrawn && restUntil <= nowMs)
    .sort((a, b) => a.batch.expiresAt - b.batch.expiresAt);
}
