import type { PausedWork } from "../../../grammar/gbnf/paused-work.ts";

export interface SlicesParts {
  /** Milliseconds, monotonic. */
  now: () => number;
  /** Resolves after one turn of the event loop. */
  nextTurn: () => Promise<unknown>;
}

/** Milliseconds of one slice, in which the thread of the steps does no other work. */
const SLICE_MS = 2;

/** Runs long computations on the thread of the steps, one slice at a time, in round robin. */
export class Slices {
  readonly #parts: SlicesParts;
  /** Each runs one slice of a computation, and returns whether more is left. */
  readonly #pending: (() => boolean)[] = [];
  #running = false;

  constructor(parts: SlicesParts) {
    this.#parts = parts;
  }

  /** Rejects with the computation's error. The first slice runs at once where no other computation is pending. */
  run<T>(work: PausedWork<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#pending.push(() => {
        try {
          const { done, value } = this.#slice(work);
          if (done) resolve(value);
          return !done;
        } catch (error) {
          reject(error);
          return false;
        }
      });
      if (!this.#running) void this.#drain();
    });
  }

  async #drain(): Promise<void> {
    this.#running = true;
    for (let slice = this.#pending.shift(); slice !== undefined; slice = this.#pending.shift()) {
      if (slice()) this.#pending.push(slice);
      if (this.#pending.length > 0) await this.#parts.nextTurn();
    }
    this.#running = false;
  }

  #slice<T>(work: PausedWork<T>): IteratorResult<undefined, T> {
    const end = this.#parts.now() + SLICE_MS;
    for (;;) {
      const result = work.next();
      if (result.done || this.#parts.now() >= end) return result;
    }
  }
}
