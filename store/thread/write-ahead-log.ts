import type { Database, Statement } from "better-sqlite3";

/**
 * Pages between two copies, 16 MiB: pages that are rewritten often, such as those of indexes, are copied once each
 * time. SQLite's default of 4 MiB fills up several times while the rows of 50,000 lines are stored.
 */
const COPY_PAGES = 4096;
/**
 * Pages from which the log should restart at its beginning, which needs a moment in which all of it is copied: writes
 * that need not be durable are held while a copy runs.
 */
const LONG_PAGES = 2 * COPY_PAGES;
/**
 * Pages between two copies after results were removed, 4 MiB: removals zero each page that the results filled, faster
 * than other operations write, and the disk writes of a copy delay the next commit's fsync.
 */
const REMOVAL_COPY_PAGES = 1024;
/** Most pages that the store's thread copies itself, 256 KiB. */
export const FEW_PAGES = 64;
/** Most passes of one copy; writes continue during each. */
const PASSES = 8;

/** Pages of the write-ahead log, and those not yet in the database file. */
export interface LogSize {
  pages: number;
  left: number;
}

interface Checkpoint {
  log: number;
  checkpointed: number;
}

/** Reads the log's size without copying. Its errors are ignored: the next write fails with them and reports them. */
export function logSize(db: Database): () => LogSize {
  const statement: Statement<[], Checkpoint> = db.prepare("PRAGMA wal_checkpoint(NOOP)");
  return () => {
    try {
      const { log, checkpointed } = statement.get() ?? { log: 0, checkpointed: 0 };
      return { pages: log, left: log - checkpointed };
    } catch {
      return { pages: 0, left: 0 };
    }
  };
}

/**
 * Copies the log to the database file, in parallel to writes and reads of other connections. Returns the number of
 * pages.
 */
export function copyLog(db: Database): number {
  const size = logSize(db);
  let { left } = size();
  let copied = 0;
  for (let pass = 0; pass < PASSES && left > 0; pass++) {
    db.pragma("wal_checkpoint(PASSIVE)");
    const { left: after } = size();
    copied += Math.max(left - after, 0);
    // Pages that other processes read from cannot be copied.
    if (after >= left) break;
    left = after;
  }
  return copied;
}

/**
 * The write-ahead log from the store's thread. Another thread copies it to the database file: a copy takes as long as
 * the disk takes for all its pages, and would delay every commit and read.
 */
export class WriteAheadLog {
  readonly #db: Database;
  readonly #copy: () => void;
  readonly #size: () => LogSize;
  #copying = false;
  /** Pages that the last copy left. */
  #remaining = 0;
  #behind = false;

  /** `copy` starts a copy on the other thread, which answers with `copied`. */
  constructor(db: Database, copy: () => void) {
    this.#db = db;
    this.#copy = copy;
    this.#size = logSize(db);
  }

  get isCopying(): boolean {
    return this.#copying;
  }

  /** True while the log is long and a copy runs. */
  get isBehind(): boolean {
    return this.#behind;
  }

  get left(): number {
    return this.#size().left;
  }

  /** Called after each commit, with whether it removed results. */
  afterCommit(removed = false): void {
    const { pages, left } = this.#size();
    this.#remaining = Math.min(this.#remaining, left);
    if (left - this.#remaining >= (removed ? REMOVAL_COPY_PAGES : COPY_PAGES)) this.requestCopy();
    this.#behind = this.#copying && pages >= LONG_PAGES;
  }

  /** Requests a copy unless one runs. */
  requestCopy(): void {
    if (this.#copying) return;
    this.#copying = true;
    this.#copy();
  }

  /** Called when a copy ended or failed. */
  copied(): void {
    this.#copying = false;
    this.#behind = false;
    const { pages, left } = this.#size();
    this.#remaining = left;
    // Under continuous writes each copy leaves a few pages, and SQLite restarts the log only when none is left.
    if (pages < LONG_PAGES || left === 0 || left > FEW_PAGES) return;
    try {
      this.#db.pragma("wal_checkpoint(PASSIVE)");
    } catch {
      // Such as a full disk; the next write reports it.
    }
  }
}
