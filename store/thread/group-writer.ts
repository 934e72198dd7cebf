import type { Database, Statement } from "better-sqlite3";
import type { StoreError } from "../types/store-error.ts";
import { endsTransaction, storeError } from "./sqlite-error.ts";

/** One write operation on its way; exactly one of `done` and `failed` is called, `done` only after the commit. */
export interface WriteJob {
  /** False: the commit need not wait for the disk. */
  durable: boolean;
  run(): unknown;
  done(result: unknown): void;
  failed(error: StoreError): void;
}

/**
 * Runs the writes that wait in common transactions, in the order in which they came, so that one fsync serves many. Jobs
 * that need none go along behind those that do: they would wait for that fsync anyhow, and not cut the group in two. Each
 * stands in a savepoint: one that fails by itself is undone alone. When the disk fails, SQLite may have rolled back the
 * whole, so all of that transaction fail, and none of them was written. But on a full disk they are tried again, each in
 * a transaction of its own: a small one may fit where a large one does not.
 */
export class GroupWriter {
  readonly #db: Database;
  readonly #begin: Statement;
  readonly #commit: Statement;
  readonly #savepoint: Statement;
  readonly #release: Statement;
  readonly #undo: Statement;
  readonly #now: () => number;
  #durable = true;
  /** So many of those that wait go alone. */
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
   * Takes jobs from the front of `waiting` into one transaction until it has worked for `maxMs`. Returns the error that
   * they failed with, null after a commit and when they wait again to go alone.
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
      // BEGIN itself can fail, with nothing taken: then the first in line learns it, so that none waits for ever.
      if (jobs.length === 0) waiting.shift()?.failed(failure);
      for (const job of jobs) job.failed(failure);
      return failure;
    }
    for (const { job, result } of ran) job.done(result);
    return null;
  }

  /** The synchronous setting cannot change within a transaction; WAL commits before it are synced with the next full one. */
  #setDurable(durable: boolean): void {
    if (durable === this.#durable) return;
    this.#db.pragma(`synchronous = ${durable ? "FULL" : "NORMAL"}`);
    this.#durable = durable;
  }

  /** Null when the job failed by itself; throws what ends the transaction. */
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
