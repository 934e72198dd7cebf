export interface BackgroundReadingDeps<T> {
  /** Rejects when the value could not be read. */
  read(): Promise<T>;
  /** Milliseconds of a clock that never goes back. */
  now(): number;
  /** Milliseconds after which a reading is discarded. */
  keptMs: number;
  /** Consecutive failures after which no further reading is tried. */
  failures: number;
}

/**
 * The last known value of something whose reading may take long, hang or fail. `get` returns the last reading and begins
 * the next one. One reading runs at a time, so one that hangs is the last.
 */
export class BackgroundReading<T> {
  readonly #deps: BackgroundReadingDeps<T>;
  #latest: { value: T; at: number } | null = null;
  #reading = false;
  #failed = 0;

  constructor(deps: BackgroundReadingDeps<T>) {
    this.#deps = deps;
  }

  /** Null before the first reading, and when the last one is older than `keptMs`. */
  get(): T | null {
    void this.refresh();
    const { now, keptMs } = this.#deps;
    return this.#latest !== null && now() - this.#latest.at <= keptMs ? this.#latest.value : null;
  }

  /** Resolves when the reading that it begins is over; at once when one runs or too many failed. Never rejects. */
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
