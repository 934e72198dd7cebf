import type { ClaimedLine } from "../../store/types/line-row.ts";
import type { ActiveBatch } from "./active-batch.ts";

/** A line in the engine. */
export interface InFlightLine {
  line: ClaimedLine;
  batch: ActiveBatch;
  abort: AbortController;
}

/** The lines in one model's engine. */
export class InFlightLines {
  readonly #all = new Set<InFlightLine>();
  #waiters: { batch: ActiveBatch | null; resolve: () => void }[] = [];

  get size(): number {
    return this.#all.size;
  }

  of(batchId: string): InFlightLine[] {
    return [...this.#all].filter(({ batch }) => batch.batch.id === batchId);
  }

  add(line: InFlightLine): void {
    this.#all.add(line);
  }

  remove(line: InFlightLine): void {
    this.#all.delete(line);
    if (this.#waiters.length === 0) return;
    const over = this.#waiters.filter(({ batch }) => this.#hasNone(batch));
    this.#waiters = this.#waiters.filter((waiter) => !over.includes(waiter));
    for (const { resolve } of over) resolve();
  }

  /** Aborts the lines of one batch; of all batches for null. */
  abort(batch: ActiveBatch | null): void {
    for (const line of this.#all) if (batch === null || line.batch === batch) line.abort.abort();
  }

  /** Resolves when no line of the batch is in the engine; no line at all for null. */
  drained(batch: ActiveBatch | null): Promise<void> {
    if (this.#hasNone(batch)) return Promise.resolve();
    return new Promise((resolve) => this.#waiters.push({ batch, resolve }));
  }

  #hasNone(batch: ActiveBatch | null): boolean {
    return batch === null ? this.#all.size === 0 : this.of(batch.batch.id).length === 0;
  }
}
