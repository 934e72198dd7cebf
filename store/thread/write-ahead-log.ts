import type { Database, Statement } from "better-sqlite3";

/**
 * 16 MiB of log between two copies: pages that are written again and again, as those of indexes are, go to the database
 * once each time. SQLite's 4 MiB fill up several times while the rows of 50,000 lines are stored.
 */
const COPY_PAGES = 4096;
/**
 * A log of this size should be begun anew, which takes a moment in which all of it is copied: writes that need not be durable
 * are held back while a copy runs.
 */
const LONG_PAGES = 2 * COPY_PAGES;
/**
 * 4 MiB, after results were removed: these zero each page that they filled, faster than anything else writes, and what a copy
 * has given the disk to write is in the way of the next commit's fsync.
 */
const REMOVAL_COPY_PAGES = 1024;
/** What the store's thread copies itself: 256 KiB. */
export const FEW_PAGES = 64;
/** The copy goes on while writes go on, so often at most. */
const PASSES = 8;

/** Of the write-ahead log: all pages, and those that are not in the database file yet. */
export interface LogSize {
  pages: number;
  left: number;
}

interface Checkpoint {
  log: number;
  checkpointed: number;
}

/** Reads the log's size; copies nothing. Where that fails, so will the next write, which tells of it. */
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

/** Copies the log to the database file, beside writes and reads of other connections. Returns how many pages. */
export function copyLog(db: Database): number {
  const size = logSize(db);
  let { left } = size();
  let copied = 0;
  for (let pass = 0; pass < PASSES && left > 0; pass++) {
    db.pragma("wal_checkpoint(PASSIVE)");
    const { left: after } = size();
    copied += Math.max(left - after, 0);
    // What other processes read from stays.
    if (after >= left) break;
    left = after;
  }
  return copied;
}

/**
 * The write-ahead log as the store's thread sees it. Another thread copies it to the database file: a copy takes as long as
 * the disk takes for all its pages, and every commit and read would wait for it.
 */
export class WriteAheadLog {
  readonly #db: Database;
  readonly #copy: () => void;
  readonly #size: () => LogSize;
  #asked = false;
  /** What the last copy left. */
  #kept = 0;
  #behind = false;

  /** `copy` asks the other thread, which answers with `copied`. */
  constructor(db: Database, copy: () => void) {
    this.#db = db;
    this.#copy = copy;
    this.#size = logSize(db);
  }

  get isCopying(): boolean {
    return this.#asked;
  }

  /** The log is long and a copy runs. */
  get isBehind(): boolean {
    return this.#behind;
  }

  get left(): number {
    return this.#size().left;
  }

  /** After each commit, with whether it removed results. */
  look(removed = false): void {
    const { pages, left } = this.#size();
    this.#kept = Math.min(this.#kept, left);
    if (left - this.#kept >= (removed ? REMOVAL_COPY_PAGES : COPY_PAGES)) this.ask();
    this.#behind = this.#asked && pages >= LONG_PAGES;
  }

  /** Asks for a copy now. */
  ask(): void {
    if (this.#asked) return;
    this.#asked = true;
    this.#copy();
  }

  /** The copy is over, or failed. */
  copied(): void {
    this.#asked = false;
    this.#behind = false;
    const { pages, left } = this.#size();
    this.#kept = left;
    // While writes never pause, each copy leaves a few pages, and a log is begun anew only when none is left.
    if (pages < LONG_PAGES || left === 0 || left > FEW_PAGES) return;
    try {
      this.#db.pragma("wal_checkpoint(PASSIVE)");
    } catch {
      // A full disk, say: the next write tells of it.
    }
  }
}
