import type { ClaimedLine } from "../../store/types/line-row.ts";
import type { Member } from "./active-batch.ts";

/** A line that is claimed and read, and waits for room in the engine. */
export interface Prepared {
  line: ClaimedLine;
  member: Member;
  body: unknown;
}

/** A line in the engine. */
export interface Flight {
  line: ClaimedLine;
  member: Member;
  abort: AbortController;
}

/** The lines that the engine has. */
export class Flights {
  readonly #all = new Set<Flight>();
  #waiters: { member: Member | null; resolve: () => void }[] = [];

  get size(): number {
    return this.#all.size;
  }

  of(batchId: string): Flight[] {
    return [...this.#all].filter(({ member }) => member.batch.id === batchId);
  }

  add(flight: Flight): void {
    this.#all.add(flight);
  }

  remove(flight: Flight): void {
    this.#all.delete(flight);
    if (this.#waiters.length === 0) return;
    const over = this.#waiters.filter(({ member }) => this.#noneOf(member));
    this.#waiters = this.#waiters.filter((waiter) => !over.includes(waiter));
    for (const { resolve } of over) resolve();
  }

  /** Stops those of one batch, or all. */
  abort(member: Member | null): void {
    for (const flight of this.#all) if (member === null || flight.member === member) flight.abort.abort();
  }

  /** Resolves when none of the batch, or none at all, is in the engine any more. */
  landed(member: Member | null): Promise<void> {
    if (this.#noneOf(member)) return Promise.resolve();
    return new Promise((resolve) => this.#waiters.push({ member, resolve }));
  }

  #noneOf(member: Member | null): boolean {
    return member === null ? this.#all.size === 0 : this.of(member.batch.id).length === 0;
  }
}
