import type { Database } from "better-sqlite3";
import { FEW_PAGES, type WriteAheadLog } from "./write-ahead-log.ts";

/** From the first deletion on: those of one batch's end come together. */
const DELAY_MS = 1000;
/** While the log is copied. */
const COPY_MS = 100;
/** While another process, such as a backup, reads from the log. */
const LONGEST_DELAY_MS = 30_000;

/**
 * Empties the write-ahead log after answers were deleted: it still has the pages on which they stood. With secure_delete
 * the database file itself keeps nothing of them. The log is emptied once another thread has copied it. A log that somebody
 * reads from can't be emptied: that is tried again later, and never waited for, as everything durable waits for this thread.
 */
export class Scrubber {
  readonly #db: Database;
  readonly #log: Pick<WriteAheadLog, "ask" | "left">;
  #delayMs = COPY_MS;
  #timer: NodeJS.Timeout | null = null;

  constructor(db: Database, log: Pick<WriteAheadLog, "ask" | "left">) {
    this.#db = db;
    this.#log = log;
  }

  /** Something was deleted. The first of such calls sets the time at which the log is emptied; later ones do not move it. */
  due(): void {
    this.#again(DELAY_MS);
  }

  #again(delayMs: number): void {
    this.#timer ??= setTimeout(() => this.#scrub(), delayMs).unref();
  }

  #scrub(): void {
    this.#timer = null;
    // Closing empties the log too.
    if (!this.#db.open) return;
    // The thread that copies may be over: then all of the log is copied here, late.
    const isCopied = this.#log.left <= FEW_PAGES || this.#delayMs === LONGEST_DELAY_MS;
    if (isCopied && this.#empty()) {
      this.#delayMs = COPY_MS;
      return;
    }
    this.#log.ask();
    this.#again(this.#delayMs);
    this.#delayMs = Math.min(this.#delayMs * 2, LONGEST_DELAY_MS);
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
