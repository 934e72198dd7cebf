import type { Database } from "better-sqlite3";

/** From the last deletion on: those of one batch's end come together. */
const DELAY_MS = 1000;

/**
 * Empties the write-ahead log after answers were deleted: it still has the pages on which they stood. With secure_delete
 * the database file itself keeps nothing of them.
 */
export class Scrubber {
  readonly #db: Database;
  readonly #delayMs: number;
  #timer: NodeJS.Timeout | undefined;

  constructor(db: Database, delayMs = DELAY_MS) {
    this.#db = db;
    this.#delayMs = delayMs;
  }

  /** Something was deleted; the log is emptied a moment after the last of such calls. */
  due(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#scrub(), this.#delayMs);
    this.#timer.unref();
  }

  #scrub(): void {
    // Closing empties the log too.
    if (!this.#db.open) return;
    try {
      // 1: another process, such as a backup, reads from the log.
      if (this.#db.pragma("wal_checkpoint(TRUNCATE)", { simple: true }) !== 0) this.due();
    } catch {
      // A full disk, say, that the next write tells of.
      this.due();
    }
  }
}
