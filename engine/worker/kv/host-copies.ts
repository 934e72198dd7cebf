import type { CopyBudget } from "../cost/step-caps.ts";

/** A copy of a state. */
export interface HostCopy {
  readonly state: Uint8Array;
}

export type CopyKind = "save" | "load";

/** Bytes per millisecond before the first measured copy: nearly every machine copies large states faster. */
const FIRST_RATE = 1e6;
/** The weight of a new measurement: interleaved decodes scatter cells, so that two copies of one size differ. */
const NEW_WEIGHT = 0.25;
/** A slow copy counts at most this multiple of the expected time. */
const OUTLIER = 4;
/** The share of the gap to FIRST_RATE that a low rate recovers with each step: one too low for any copy would never be corrected. */
const RECOVERY = 0.001;

/**
 * Copies of states in host memory within a bound of bytes: the least recently used are dropped for new ones. A copy is made
 * when it fits into the budget of the step: it runs between two steps and delays every sequence. Its time is predicted by the
 * measured rate of earlier ones.
 */
export class HostCopies {
  /** Most bytes of all copies together. */
  readonly bytes: number;
  /** Milliseconds, monotonic. */
  readonly #now: () => number;
  /** Least recently used first, with what removes a copy elsewhere. */
  readonly #copies = new Map<HostCopy, () => void>();
  readonly #rates = { save: FIRST_RATE, load: FIRST_RATE };
  #budget: CopyBudget = { online: 0, lower: 0 };
  #used = 0;
  #spentMs = 0;

  constructor(bytes: number, now: () => number) {
    this.bytes = bytes;
    this.#now = now;
  }

  /** Bytes of all copies. */
  get used(): number {
    return this.#used;
  }

  /** Milliseconds of copies since allow(). */
  get spentMs(): number {
    return this.#spentMs;
  }

  /** Sets the budget of a step; called once before each. */
  allow(budget: CopyBudget): void {
    this.#budget = budget;
    this.#spentMs = 0;
    for (const kind of ["save", "load"] as const)
      if (this.#rates[kind] < FIRST_RATE) this.#rates[kind] += RECOVERY * (FIRST_RATE - this.#rates[kind]);
  }

  /** Predicted milliseconds of a copy. */
  ms(kind: CopyKind, size: number): number {
    return size / this.#rates[kind];
  }

  /** Whether a copy of so many bytes fits into the step. */
  fits(kind: CopyKind, size: number, online: boolean): boolean {
    return this.ms(kind, size) <= this.#budget[online ? "online" : "lower"] - this.#spentMs;
  }

  /** Reads a state; null when it cannot be read, or is larger than all copies may be. */
  save(read: () => Uint8Array | null): Uint8Array | null {
    const state = this.#measured("save", read, (read) => read?.length ?? 0);
    return state !== null && state.length <= this.bytes ? state : null;
  }

  /** @param load returns false when the state could not be restored: it is then dropped */
  load(copy: HostCopy, load: (state: Uint8Array) => boolean): boolean {
    const loaded = this.#measured(
      "load",
      () => load(copy.state),
      (done) => (done ? copy.state.length : 0),
    );
    // Copies that were made before it may have replaced it.
    if (!this.#copies.has(copy)) return loaded;
    if (loaded) this.touch(copy);
    else this.drop(copy);
    return loaded;
  }

  /** @param removed called when the copy is dropped */
  add(copy: HostCopy, removed: () => void): void {
    this.#copies.set(copy, removed);
    this.#used += copy.state.length;
    for (const oldest of this.#copies.keys()) {
      if (this.#used <= this.bytes) break;
      this.drop(oldest);
    }
  }

  touch(copy: HostCopy): void {
    const removed = this.#copies.get(copy)!;
    this.#copies.delete(copy);
    this.#copies.set(copy, removed);
  }

  drop(copy: HostCopy): void {
    const removed = this.#copies.get(copy)!;
    this.#copies.delete(copy);
    this.#used -= copy.state.length;
    removed();
  }

  #measured<T>(kind: CopyKind, copy: () => T, bytesOf: (result: T) => number): T {
    const begin = this.#now();
    const result = copy();
    const ms = this.#now() - begin;
    this.#spentMs += ms;
    const bytes = bytesOf(result);
    if (bytes > 0 && ms > 0) {
      // Times add up, rates do not: the time of a byte is averaged.
      const expected = 1 / this.#rates[kind];
      this.#rates[kind] = 1 / ((1 - NEW_WEIGHT) * expected + NEW_WEIGHT * Math.min(ms / bytes, OUTLIER * expected));
    }
    return result;
  }
}
