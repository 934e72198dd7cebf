export interface BackgroundReadingDeps<T> {
  /** Rejects when there was nothing to be had. */
  read(): Promise<T>;
  /** Milliseconds of a clock that never goes back. */
  now(): number;
  /** A reading older than this is nobody's any more. */
  keptMs: number;
  /** Failures in a row after which it is not tried again. */
  failures: number;
}

/**
 * A value whose reading may take long, hang or fail, for somebody who can't wait: asking gives what the last reading
 * brought, and begins the next one. One runs at a time, so one that hangs is the last.
 */
export class BackgroundReading<T> {
  readonly #deps: BackgroundReadingDeps<T>;
  #latest: { value: T; at: number } | null = null;
  #reading = false;
  #failed = 0;

  constructor(deps: BackgroundReadingDeps<T>) {
    this.#deps = deps;
  }

  /** Null while nothing was read, or nothing of late. */
  get(): T | null {
    void this.refresh();
    const { now, keptMs } = this.#deps;
    return this.#latest !== null && now() - this.#latest.at <= keptMs ? this.#latest.value : null;
  }

  /** Resolves when the reading that it begins is over; at once when one runs already or was given up. Never rejects. */
  async refresh(): Promise<void> {
    if (this.#reading || this.#failed >= this.#deps.failures) return;
    this.#reading = true;
    try {
      this.#latest = { value: await this.#deps.read(), at: this.#deps.now() };
      this.#failed = 0;
    } catch {
      this.#failed++;
    }
    this.#reading = false;
  }
}
