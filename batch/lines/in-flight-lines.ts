import type { ClaimedLine } from "../../store/types/line-row.ts";
import type { ActiveBatch } from "./active-batch.ts";

/** A line that is claimed and read, and waits for room in the engine. */
export interface Prepared {
  line: ClaimedLine;
  member: ActiveBatch;
  body: unknown;
}

/** A line in the engine. */
export interface InFlightLine {
  line: ClaimedLine;
  member: ActiveBatch;
  abort: AbortController;
}

/** The lines that the engine has. */
export class InFlightLines {
  readonly #all = new Set<InFlightLine>();
  #waiters: { member: ActiveBatch | null; resolve: () => void }[] = [];

  get size(): number {
    return this.#all.size;
  }

  of(batchId: string): InFlightLine[] {
    return [...this.#all].filter(({ member }) => member.batch.id === batchId);
  }

  add(flight: InFlightLine): void {
    this.#all.add(flight);
  }

  remove(flight: InFlightLine): void {
    this.#all.delete(flight);
    if (this.#waiters.length === 0) return;
    const over = this.#waiters.filter(({ member }) => this.#noneOf(member));
    this.#waiters = this.#waiters.filter((waiter) => !over.includes(waiter));
    for (const { resolve } of over) resolve();
  }

  /** Stops those of one batch, or all. */
  abort(member: ActiveBatch | null): void {
    for (const flight of this.#all) if (member === null || flight.member === member) flight.abort.abort();
  }

  /** Resolves when none of the batch, or none at all, is in the engine any more. */
  landed(member: ActiveBatch | null): Promise<void> {
    if (this.#noneOf(member)) return Promise.resolve();
    return new Promise((resolve) => this.#waiters.push({ member, resolve }));
  }

  #noneOf(member: ActiveBatch | null): boolean {
    return member === null ? this.#all.size === 0 : this.of(member.batch.id).length === 0;
  }
}
