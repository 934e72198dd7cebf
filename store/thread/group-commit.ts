import type { Database, Statement } from "better-sqlite3";
import type { StoreError } from "../types/store-error.ts";
import { endsTransaction, storeError } from "./sqlite-error.ts";

/** One queued write operation. Exactly one of `done` and `failed` is called, `done` only after the commit. */
export interface WriteJob {
  /** True when the commit must be synced to disk. */
  durable: boolean;
  run(): unknown;
  done(result: unknown): void;
  failed(error: StoreError): void;
}

/**
 * Group commit: runs queued writes in shared transactions, in order of arrival, so that one fsync serves many. Writes
 * that need no fsync join a group of durable ones, because splitting the group would make them wait for that fsync
 * anyway. Each write has its own savepoint, so one that fails is undone alone. When the disk fails, SQLite may have
 * rolled back the whole transaction, so all writes of the group fail and none is written. On a full disk they are
 * retried, each in its own transaction: a small one may fit where a large one does not.
 */
export class GroupCommit {
  readonly #db: Database;
  readonly #begin: Statement;
  readonly #commit: Statement;
  readonly #savepoint: Statement;
  readonly #release: Statement;
  readonly #undo: Statement;
  readonly #now: () => number;
  #durable = true;
  /** Number of queued writes, from the front, that run in transactions of their own. */
  #alone = 0;

  constructor(db: Database, now: () => number) {
    this.#db = db;
    this.#begin = db.prepare("BEGIN IMMEDIATE");
    this.#commit = db.prepare("COMMIT");
    this.#savepoint = db.prepare("SAVEPOINT operation");
    this.#release = db.prepare("RELEASE operation");
    this.#undo = db.prepare("ROLLBACK TO operation");
    this.#now = now;
  }

  /**
   * Runs jobs from the front of `waiting` in one transaction until `maxMs` of work. Returns the error that failed them;
   * null after a commit, and when they are queued again to run alone.
   */
  runSome(waiting: WriteJob[], maxMs: number): StoreError | null {
    const started = this.#now();
    const ran: { job: WriteJob; result: unknown }[] = [];
    let taken: WriteJob | undefined;
    const alone = this.#alone > 0;
    if (alone) this.#alone--;
    try {
      this.#setDurable(waiting[0]?.durable ?? true);
      this.#begin.run();
      do {
        if (waiting[0]?.durable && !this.#durable) break;
        taken = waiting.shift();
        if (taken === undefined) break;
        const outcome = this.#runOne(taken);
        if (outcome !== null) ran.push({ job: taken, result: outcome.result });
        taken = undefined;
      } while (!alone && this.#now() - started < maxMs);
      this.#commit.run();
    } catch (error) {
      const failure = storeError(error);
      if (this.#db.inTransaction) this.#db.exec("ROLLBACK");
      const jobs = [...ran.map(({ job }) => job), ...(taken === undefined ? [] : [taken])];
      if (failure.code === "full" && jobs.length > 1) {
        waiting.unshift(...jobs);
        this.#alone = jobs.length;
        return null;
      }
      // If BEGIN fails, no job was taken. The first job fails then, so that the queue cannot stall.
      if (jobs.length === 0) waiting.shift()?.failed(failure);
      for (const job of jobs) job.failed(failure);
      return failure;
    }
    for (const { job, result } of ran) job.done(result);
    return null;
  }

  /** `synchronous` cannot change within a transaction. WAL commits before it are synced with the next full one. */
  #setDurable(durable: boolean): void {
    if (durable === this.#durable) return;
    this.#db.pragma(`synchronous = ${durable ? "FULL" : "NORMAL"}`);
    this.#durable = durable;
  }

  /** Null when only the job failed; throws an error that ends the transaction. */
  #runOne(job: WriteJob): { result: unknown } | null {
    this.#savepoint.run();
    try {
      const result = job.run();
      this.#release.run();
      return { result };
    } catch (error) {
      const failure = storeError(error);
      if (endsTransaction(failure) || !this.#db.inTransaction) throw failure;
      this.#undo.run();
      this.#release.run();
      job.failed(failure);
      return null;
    }
  }
}
