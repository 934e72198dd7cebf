import type { Database } from "better-sqlite3";
import { FEW_PAGES, type WriteAheadLog } from "./write-ahead-log.ts";

/** Milliseconds from the first deletion to the truncation: the deletions at a batch's end come together. */
const DELAY_MS = 1000;
/** Milliseconds until the first retry, while the log is copied. */
const COPY_MS = 100;
/** Milliseconds between retries at most, while another process, such as a backup, reads from the log. */
const LONGEST_DELAY_MS = 30_000;

/**
 * Truncates the write-ahead log after answers were deleted, because it still holds their pages; with secure_delete the
 * database file itself keeps no trace of them. The log is truncated once another thread has copied it. While it has
 * readers it cannot be truncated: that is retried later and never waited for, as every durable write needs this thread.
 */
export class LogTruncation {
  readonly #db: Database;
  readonly #log: Pick<WriteAheadLog, "requestCopy" | "left">;
  #delayMs = COPY_MS;
  #timer: NodeJS.Timeout | null = null;

  constructor(db: Database, log: Pick<WriteAheadLog, "requestCopy" | "left">) {
    this.#db = db;
    this.#log = log;
  }

  /** Schedules a truncation after a deletion. The first call sets its time; later ones do not move it. */
  schedule(): void {
    this.#retryIn(DELAY_MS);
  }

  #retryIn(delayMs: number): void {
    this.#timer ??= setTimeout(() => this.#scrub(), delayMs).unref();
  }

  #scrub(): void {
    this.#timer = null;
    // Closing truncates the log too.
    if (!this.#db.open) return;
    // The copying thread may have ended. Then this thread copies all of the log, after the longest delay.
    const isCopied = this.#log.left <= FEW_PAGES || this.#delayMs === LONGEST_DELAY_MS;
    if (isCopied && this.#truncate()) {
      this.#delayMs = COPY_MS;
      return;
    }
    this.#log.requestCopy();
    this.#retryIn(this.#delayMs);
    this.#delayMs = Math.min(this.#delayMs * 2, LONGEST_DELAY_MS);
  }

  /** False while the log has readers, and on errors such as a full disk, which the next write reports. */
  #truncate(): boolean {
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
