import type { Database } from "better-sqlite3";

/** From the first deletion on: those of one batch's end come together. */
const DELAY_MS = 1000;
/** While another process, such as a backup, reads from the log. */
const LONGEST_DELAY_MS = 30_000;

/**
 * Empties the write-ahead log after answers were deleted: it still has the pages on which they stood. With secure_delete
 * the database file itself keeps nothing of them. A log that somebody reads from can't be emptied: that is tried again
 * later, and never waited for, as everything durable waits for this thread.
 */
export class Scrubber {
  readonly #db: Database;
  #delayMs = DELAY_MS;
  #timer: NodeJS.Timeout | null = null;

  constructor(db: Database) {
    this.#db = db;
  }

  /** Something was deleted. The first of such calls sets the time at which the log is emptied; later ones do not move it. */
  due(): void {
    this.#timer ??= setTimeout(() => this.#scrub(), this.#delayMs).unref();
  }

  #scrub(): void {
    this.#timer = null;
    // Closing empties the log too.
    if (!this.#db.open) return;
    if (this.#empty()) {
      this.#delayMs = DELAY_MS;
      return;
    }
    this.#delayMs = Math.min(this.#delayMs * 2, LONGEST_DELAY_MS);
    this.due();
  }

  /** False while something reads from the log, or on a full disk, say, that the next write tells of. */
  #empty(): boolean {
    const busyMs = Number(this.#db.pragma("busy_timeout", { simple: true }));
    this.#db.pragma("busy_timeout = 0");
    try {
      return this.#db.pragma("wal_checkpoint(TRUNCATE)", { simple: true }) === 0;
    } catch {
      return false;
    } finally {
      this.#db.pragma(`busy_timeout = ${busyMs}`);
    }
  }
}
