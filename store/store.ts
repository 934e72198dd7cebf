import { EventEmitter, once } from "node:events";
import { resolve } from "node:path";
import { Worker } from "node:worker_threads";
import { programUrl } from "../platform/installation.ts";
import type { Operations } from "./tables/tables.ts";
import { isLarge, pathOf } from "./thread/database.ts";
import type { StoreWork } from "./thread/messages.ts";
import { COPY_LOG, type FromStore, type Reply, type StoreState, type ToStore } from "./thread/messages.ts";
import { StoreError, type StoreErrorCode } from "./types/store-error.ts";

/**
 * Most unanswered calls at a time. Callers that await their calls stay far below it; further calls are rejected as
 * "busy", not queued without bound.
 */
const MAX_CALLS = 10_000;

/** The part of a logger that the store uses. */
export interface StoreLog {
  info(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/**
 * All durable state. A write resolves once it is committed and synced; no operation blocks the caller's thread. Every
 * operation rejects with a StoreError and nothing else.
 */
export interface Store extends Operations {
  /** Whether writes reach the disk, as last observed. */
  readonly state: StoreState;
  /** Milliseconds of work of the store's thread, including waits for the disk. */
  busyMs(): number;
  /** Rejected operations since the store was opened, by code. */
  failures(): ReadonlyMap<StoreErrorCode, number>;
  /** Calls the listener on each change of `state`. */
  onState(listener: (state: StoreState) => void): void;
  /** Completes pending operations and releases the data directory. */
  close(): Promise<void>;
}

interface PendingCall {
  resolve(result: unknown): void;
  reject(error: StoreError): void;
}

/** Starts the threads; the first of them opens the database. */
export interface StoreThreads {
  start(part: "store" | "reports"): StoreThread;
  /**
   * Checks a database that is too large for the check at start. Resolves with the fault and advice; null when it is
   * sound.
   */
  check(): Promise<string | null>;
}

/** A thread that serves the database's side of a port. */
export interface StoreThread {
  port: { postMessage(message: ToStore): void; on(event: "message", listener: (message: FromStore) => void): unknown };
  /** Resolves with the reason when the thread has ended. */
  ended: Promise<string>;
  /** Milliseconds of work, excluding idle time. */
  busyMs(): number;
}

export interface StoreOptions {
  dataDir: string;
  log: StoreLog;
}

/** Opens, checks and migrates the database in a thread of its own. Rejects with a StoreError that says what to do. */
export async function openStore({ dataDir, log }: StoreOptions): Promise<Store> {
  const worker = (part: StoreWork["part"]) =>
    new Worker(programUrl("store/thread/worker"), {
      workerData: { part, dataDir },
      name: part,
      execArgv: [],
    });
  const start = (part: "store" | "reports") => {
    const port = worker(part);
    const ended = once(port, "exit").then(
      () => "it exited",
      (error: unknown) => (error instanceof Error ? error.message : String(error)),
    );
    return { port, ended, busyMs: () => port.performance.eventLoopUtilization().active };
  };
  const check = async () => {
    if (!isLarge(pathOf(resolve(dataDir)))) return null;
    const checking = worker("check");
    checking.unref();
    const [fault]: (string | null)[] = await once(checking, "message");
    return fault ?? null;
  };
  return connectStore({ start, check }, log);
}

/** The store over the given threads. */
export async function connectStore(threads: StoreThreads, log: StoreLog): Promise<Store> {
  const thread = threads.start("store");
  const failures = new Map<StoreErrorCode, number>();
  const connection = new Connection(thread, failures);
  const names = await connection.opened;
  const reports = new Connection(threads.start("reports"), failures);
  connection.events.on("state", (state: StoreState) => {
    if (state.writable) log.info({}, "The store is writable again");
    else log.error({ code: state.code, reason: state.reason }, "The store is not writable");
  });
  connection.events.on("copy", () => {
    const copied = reports.call(COPY_LOG.table, COPY_LOG.name, []);
    void copied.catch(() => {}).then(() => connection.copied());
  });
  reports.events.on("state", () =>
    log.error({}, "Usage reports fail until the next start: the report thread has ended"),
  );
  threads.check().then(
    (fault) => fault !== null && connection.setState({ writable: false, code: "corrupt", reason: fault }),
    (error: unknown) => log.error({ err: error }, "The check of the database failed"),
  );
  const operations = [...operationsOver(connection, names), ...operationsOver(reports, await reports.opened)].reduce<
    Record<string, Record<string, Call>>
  >((tables, [table, name, call]) => {
    tables[table] = { ...tables[table], [name]: call };
    return tables;
  }, {});
  const store = {
    get state() {
      return connection.state;
    },
    busyMs: () => thread.busyMs(),
    failures: () => failures,
    onState: (listener: (state: StoreState) => void) => void connection.events.on("state", listener),
    close: async () => {
      await reports.close();
      await connection.close();
    },
  };
  // The names come from `tables`, from which Operations is derived.
  return Object.assign(store, operations as unknown as Operations);
}

type Call = (...args: unknown[]) => Promise<unknown>;

function operationsOver(connection: Connection, names: Record<string, string[]>): [string, string, Call][] {
  return Object.entries(names).flatMap(([table, list]) =>
    list.map((name): [string, string, Call] => [table, name, (...args) => connection.call(table, name, args)]),
  );
}

/** Calls to one thread, matched with their replies. */
class Connection {
  readonly opened: Promise<Record<string, string[]>>;
  readonly events = new EventEmitter();
  state: StoreState = { writable: true };
  readonly #thread: StoreThread;
  readonly #failures: Map<StoreErrorCode, number>;
  readonly #calls = new Map<number, PendingCall>();
  #nextId = 1;
  #opened = false;
  #closing: Promise<void> | null = null;
  #ended = false;

  constructor(thread: StoreThread, failures: Map<StoreErrorCode, number>) {
    this.#thread = thread;
    this.#failures = failures;
    this.opened = new Promise((resolve, reject) => {
      thread.port.on("message", (message: FromStore) => {
        if (message.type === "opened") {
          this.#opened = true;
          resolve(message.operations);
        } else if (message.type === "refused") reject(new StoreError(message.error.code, message.error.message));
        else this.#receive(message);
      });
      void thread.ended.then((reason) => {
        reject(new StoreError("closed", `The store's thread has ended: ${reason}`));
        this.#end(reason);
      });
    });
  }

  call(table: string, name: string, args: readonly unknown[]): Promise<unknown> {
    if (this.#ended || this.#closing !== null) return Promise.reject(this.#failure("closed", "The store is closed"));
    if (this.#calls.size >= MAX_CALLS) {
      return Promise.reject(this.#failure("busy", `${MAX_CALLS} operations are already queued for the store`));
    }
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      this.#calls.set(id, { resolve, reject });
      this.#post({ type: "call", id, table, name, args });
    });
  }

  /** Reports the end of a log copy, the answer to "copy". */
  copied(): void {
    if (!this.#ended && this.#closing === null) this.#post({ type: "copied" });
  }

  close(): Promise<void> {
    if (this.#closing === null && !this.#ended) {
      const closed = once(this.events, "closed");
      this.#closing = Promise.race([closed, this.#thread.ended]).then(() => {});
      this.#post({ type: "close" });
    }
    return this.#closing ?? Promise.resolve();
  }

  #receive(message: Exclude<FromStore, { type: "opened" | "refused" }>): void {
    if (message.type === "replies") {
      for (const reply of message.replies) this.#answer(reply);
    } else if (message.type === "closed") {
      this.events.emit("closed");
    } else if (message.type === "copy") {
      this.events.emit("copy");
    } else {
      this.setState(message.state);
    }
  }

  #answer(reply: Reply): void {
    const call = this.#calls.get(reply.id);
    this.#calls.delete(reply.id);
    if ("error" in reply) call?.reject(this.#failure(reply.error.code, reply.error.message));
    else call?.resolve(reply.result);
  }

  /** "corrupt" is final: no later state replaces it. */
  setState(state: StoreState): void {
    if (this.#closing !== null || (!this.state.writable && this.state.code === "corrupt")) return;
    this.state = state;
    this.events.emit("state", state);
  }

  #end(reason: string): void {
    this.#ended = true;
    const message = `The store's thread has ended: ${reason}`;
    for (const { reject } of this.#calls.values()) reject(this.#failure("closed", message));
    this.#calls.clear();
    if (this.#opened && this.#closing === null) this.setState({ writable: false, code: "closed", reason: message });
  }

  #failure(code: StoreErrorCode, message: string): StoreError {
    this.#failures.set(code, (this.#failures.get(code) ?? 0) + 1);
    return new StoreError(code, message);
  }

  #post(message: ToStore): void {
    this.#thread.port.postMessage(message);
  }
}
