import type { PausedWork } from "../../../grammar/gbnf/paused-work.ts";

export interface SlicesParts {
  /** Milliseconds, monotonic. */
  now: () => number;
  /** Resolves when everything else on this thread has had its turn. */
  rest: () => Promise<unknown>;
}

/** Milliseconds that a computation may hold the thread of the steps. */
const SLICE_MS = 2;

/** Runs long computations on the thread of the steps, a slice at a time, those that are under way in turn. */
export class Slices {
  readonly #parts: SlicesParts;
  /** Each runs one slice, and returns whether more is left. */
  readonly #turns: (() => boolean)[] = [];
  #running = false;

  constructor(parts: SlicesParts) {
    this.#parts = parts;
  }

  /** Rejects with what the computation throws. The first slice runs at once where no other computation is under way. */
  run<T>(work: PausedWork<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#turns.push(() => {
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
    for (let turn = this.#turns.shift(); turn !== undefined; turn = this.#turns.shift()) {
      if (turn()) this.#turns.push(turn);
      if (this.#turns.length > 0) await this.#parts.rest();
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
