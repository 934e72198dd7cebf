import type { MessagePort } from "node:worker_threads";
import { type Operation, operationsOf, tables } from "../tables/tables.ts";
import type { StoreError } from "../types/store-error.ts";
import { openDatabase } from "./database.ts";
import { GroupCommit, type WriteJob } from "./group-commit.ts";
import { LogTruncation } from "./log-truncation.ts";
import { type FromStore, namesOf, type Reply, type StoreState, type ToStore, type WireError } from "./messages.ts";
import { endsTransaction, storeError } from "./sqlite-error.ts";
import { WriteAheadLog } from "./write-ahead-log.ts";

/** Milliseconds of work in one group of writes; a read waits for at most one group and one fsync. */
const GROUP_MS = 5;
/** Milliseconds between write probes while the disk fails. */
const PROBE_MS = 500;
/** Bytes of a write probe: more than fits into the database's free pages. */
const PROBE_BYTES = 256 * 1024;
/** Most results removed in one step, of any length. */
const DISCARDED_ROWS = 500;
const REMOVE_RESULTS = "results.remove";
/** Operations that delete answers or file names, with a test of the result for whether something was deleted. */
const DELETED = new Map<string, (result: unknown) => boolean>([
  [REMOVE_RESULTS, (rows) => rows !== 0],
  ["files.remove", (outcome) => outcome === "removed"],
  ["files.removeExpired", (ids) => Array.isArray(ids) && ids.length > 0],
  ["files.forget", () => true],
  ["retention.removeFiles", (ids) => Array.isArray(ids) && ids.length > 0],
  ["retention.removeBatches", (rows) => rows !== 0],
  ["retention.removeKeys", (rows) => rows !== 0],
  ["retention.removeResponses", (rows) => rows !== 0],
  ["retention.removeCompletions", (rows) => rows !== 0],
  ["responses.remove", (removed) => removed === true],
  ["responses.collect", (rows) => rows !== 0],
  ["conversations.remove", (removed) => removed === true],
  ["conversations.removeItem", (row) => row !== null],
  ["conversations.collect", (rows) => rows !== 0],
  ["completions.remove", (removed) => removed === true],
  ["erasures.end", () => true],
]);

/**
 * Owns the database and answers one port. Reads run on arrival, on committed data. Writes are queued until all received
 * messages were read, then run as one group; those that arrive during its fsync form the next one. A single write thus
 * has no added delay, and under load the groups grow until fsync no longer bounds throughput.
 */
export function serveStore(port: MessagePort, dataDir: string): void {
  let database: ReturnType<typeof openDatabase>;
  try {
    database = openDatabase(dataDir);
  } catch (error) {
    post(port, { type: "refused", error: wireError(storeError(error)) });
    port.close();
    return;
  }
  new StoreService(port, database);
}

class StoreService {
  readonly #port: MessagePort;
  readonly #database: ReturnType<typeof openDatabase>;
  readonly #reads: Map<string, Operation>;
  readonly #writes: Map<string, { run: Operation; durable: boolean }>;
  readonly #writer: GroupCommit;
  readonly #log: WriteAheadLog;
  readonly #scrubber: LogTruncation;
  readonly #waiting: WriteJob[] = [];
  /** Writes that are queued again once the log was copied. */
  readonly #held: WriteJob[] = [];
  readonly #discard: () => number | null;
  #discarding = false;
  /** True when the current group removed results. */
  #removed = false;
  #closing = false;
  #replies: Reply[] = [];
  #scheduled = false;
  #state: StoreState = { writable: true };

  constructor(port: MessagePort, database: ReturnType<typeof openDatabase>) {
    this.#port = port;
    this.#database = database;
    this.#writer = new GroupCommit(database.writer, () => performance.now());
    this.#log = new WriteAheadLog(database.writer, () => post(port, { type: "copy" }));
    this.#scrubber = new LogTruncation(database.writer, this.#log);
    this.#reads = operationsOf(tables(database.reader), "reads");
    const writing = tables(database.writer);
    this.#discard = () => writing.results.rebuilds.discard({ limit: DISCARDED_ROWS });
    this.#writes = new Map();
    for (const [name, run] of operationsOf(writing, "writes")) this.#writes.set(name, { run, durable: true });
    for (const [name, run] of operationsOf(writing, "rebuilds")) this.#writes.set(name, { run, durable: false });
    port.on("message", (message: ToStore) => this.#receive(message));
    post(port, { type: "opened", operations: namesOf([...this.#reads.keys(), ...this.#writes.keys()]) });
    // The previous server may have ended before its clean-up.
    this.#deleted();
  }

  #receive(message: ToStore): void {
    if (message.type === "close") {
      // Results that are still marked are discarded by the next start.
      this.#closing = true;
      this.#waiting.push(...this.#held.splice(0));
      while (this.#waiting.length > 0) this.#runGroup();
      this.#database.close();
      post(this.#port, { type: "closed" });
      this.#port.close();
      return;
    }
    if (message.type === "copied") {
      this.#log.copied();
      this.#waiting.push(...this.#held.splice(0));
      if (this.#waiting.length > 0) this.#schedule();
      return;
    }
    const { id, table, name, args } = message;
    const read = this.#reads.get(`${table}.${name}`);
    if (read !== undefined) {
      this.#read(id, () => read(...args));
      return;
    }
    const write = this.#writes.get(`${table}.${name}`);
    if (write === undefined) throw new Error(`The store has no operation ${table}.${name}`);
    const job: WriteJob = {
      durable: write.durable,
      run: () => write.run(...args),
      done: (result) => {
        this.#replies.push({ id, result });
        if (DELETED.get(`${table}.${name}`)?.(result)) this.#deleted();
      },
      failed: (error) => this.#replies.push({ id, error: wireError(error) }),
    };
    if (`${table}.${name}` === REMOVE_RESULTS) this.#enqueueRemoval(job);
    else this.#enqueue(job, !job.durable && this.#log.isBehind);
  }

  #enqueueRemoval(job: WriteJob): void {
    const run = () => {
      this.#removed = true;
      return job.run();
    };
    this.#enqueue({ ...job, run }, this.#log.isCopying);
  }

  /** Writes that can be redone, which are the bulk of all writes, must not outrun the log's copy. */
  #enqueue(job: WriteJob, held: boolean): void {
    if (held) {
      this.#held.push(job);
      return;
    }
    this.#waiting.push(job);
    this.#schedule();
  }

  #read(id: number, run: () => unknown): void {
    let reply: Reply;
    try {
      reply = { id, result: run() };
    } catch (error) {
      const failure = storeError(error);
      if (failure.code === "corrupt") this.#setState(failure);
      reply = { id, error: wireError(failure) };
    }
    post(this.#port, { type: "replies", replies: [reply] });
  }

  /**
   * Schedules the log's truncation, and removes the results of deleted files in steps, interleaved with queued writes.
   */
  #deleted(): void {
    this.#scrubber.schedule();
    if (this.#discarding || this.#closing) return;
    this.#discarding = true;
    this.#enqueueRemoval({
      durable: false,
      run: this.#discard,
      done: (removed) => {
        this.#discarding = false;
        if (removed !== null) this.#deleted();
      },
      failed: () => {
        this.#discarding = false;
        setTimeout(() => this.#deleted(), PROBE_MS).unref();
      },
    });
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#runGroup();
      if (this.#waiting.length > 0) this.#schedule();
    });
  }

  #runGroup(): void {
    if (this.#waiting.length === 0) return;
    const failure = this.#writer.runSome(this.#waiting, GROUP_MS);
    if (failure === null) this.#log.afterCommit(this.#removed);
    this.#removed = false;
    const replies = this.#replies;
    this.#replies = [];
    if (replies.length > 0) post(this.#port, { type: "replies", replies });
    if (failure !== null && endsTransaction(failure)) this.#setState(failure);
  }

  #setState(failure: StoreError): void {
    // "busy" says nothing about the disk, and the caller may retry.
    if (failure.code === "busy" || !this.#state.writable) return;
    this.#state = { writable: false, code: failure.code, reason: failure.message };
    post(this.#port, { type: "state", state: this.#state });
    // Damage is permanent, so it is not probed.
    if (failure.code !== "corrupt") this.#probeLater();
  }

  #probeLater(): void {
    setTimeout(() => {
      if (!this.#database.writer.open) return;
      try {
        this.#database.writer
          .prepare(
            "INSERT INTO probe (id, filler) VALUES (1, zeroblob(?)) ON CONFLICT DO UPDATE SET filler = excluded.filler",
          )
          .run(PROBE_BYTES);
        this.#database.writer.exec("UPDATE probe SET filler = x''");
      } catch {
        this.#probeLater();
        return;
      }
      this.#state = { writable: true };
      post(this.#port, { type: "state", state: this.#state });
    }, PROBE_MS).unref();
  }
}

function wireError({ code, message }: StoreError): WireError {
  return { code, message };
}

function post(port: MessagePort, message: FromStore): void {
  port.postMessage(message);
}
