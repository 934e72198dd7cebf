/** A computation that pauses at every `yield`; its caller decides when it continues. */
export type PausedWork<T> = Generator<undefined, T, undefined>;

/** Units of work between two pauses. A unit, such as an edge, takes about a microsecond. */
const PAUSE_EVERY = 128;

/** Decides after which units of work a computation pauses. */
export class Pauses {
  #units = 0;

  /** Counts one unit. @returns true if a pause is due */
  due(): boolean {
    this.#units = (this.#units + 1) % PAUSE_EVERY;
    return this.#units === 0;
  }
}

/** Runs a computation to its end without pauses. */
export function finished<T>(work: PausedWork<T>): T {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
  }
}
