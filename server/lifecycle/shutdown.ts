import { setTimeout as pause } from "node:timers/promises";
import type { Log } from "../../platform/log.ts";

export interface ShutdownWork {
  /** Announces the end to clients; requests are still served. */
  announce(): void;
  /** Milliseconds until the drain, in which load balancers see that /ready fails. */
  delayMs(): number;
  /** Lets running requests finish within the grace and stops every part. */
  drain(): Promise<void>;
  /** Milliseconds after which a drain is taken to hang, for example on a disk that does not answer. */
  limitMs(): number;
  log: Log;
  /** Writes log lines that are still buffered. */
  flush(): Promise<void>;
  exit(code: number): void;
  /** Milliseconds, monotonic. */
  now(): number;
  /**
   * Milliseconds after the first signal in which a second one counts as the same. npm forwards its signals, and Ctrl-C,
   * `timeout` and systemd signal the whole process group. 0 without such a parent.
   */
  echoMs: number;
}

/**
 * `echoMs` for a process that npm or npx started: long enough for an npm that a busy machine delays. A second Ctrl-C within
 * that time still ends the server, by the third or fourth signal.
 */
export const NPM_ECHO_MS = 10_000;

/** The events of a process that end it. */
export interface ProcessEvents {
  on(
    event: "SIGTERM" | "SIGINT" | "uncaughtException" | "unhandledRejection",
    listener: (what: unknown) => void,
  ): unknown;
}

/**
 * | event | what follows |
 * |---|---|
 * | SIGTERM, SIGINT | not ready; after the delay no new requests, running streams finish within the grace, exit 0 |
 * | the second signal, or the third if the second is the echo of the first | exit 1 at once |
 * | a drain that does not end | exit 1 after its limit |
 * | uncaughtException, unhandledRejection | logged, then as SIGTERM without the delay, exit 1: the state may be corrupt |
 */
export class Shutdown {
  readonly #work: ShutdownWork;
  #running: Promise<void> | null = null;
  #exitCode = 0;
  #draining = false;
  /** Time until which one more signal is the echo of the first. */
  #echoUntil = Number.NEGATIVE_INFINITY;

  constructor(work: ShutdownWork, events: ProcessEvents) {
    this.#work = work;
    for (const signal of ["SIGTERM", "SIGINT"] as const) events.on(signal, () => this.#signalled(signal));
    for (const event of ["uncaughtException", "unhandledRejection"] as const) {
      events.on(event, (what) => this.#broken(event, what));
    }
  }

  /** True after the first reason to end. */
  get begun(): boolean {
    return this.#running !== null;
  }

  /** True once new requests are refused. */
  get draining(): boolean {
    return this.#draining;
  }

  /** Drains and exits; of several exit codes the highest counts. */
  begin(exitCode: number): Promise<void> {
    this.#exitCode = Math.max(this.#exitCode, exitCode);
    this.#running ??= this.#run();
    return this.#running;
  }

  async #run(): Promise<void> {
    this.#work.announce();
    const delayMs = this.#exitCode === 0 ? this.#work.delayMs() : 0;
    if (delayMs > 0) await pause(delayMs);
    this.#draining = true;
    const overdue = setTimeout(() => this.#end(), this.#work.limitMs());
    try {
      await this.#work.drain();
    } catch (error) {
      this.#work.log.error({ err: error }, "The shutdown failed");
      this.#exitCode = 1;
    }
    clearTimeout(overdue);
    await this.#work.flush();
    this.#work.exit(this.#exitCode);
  }

  #end(): void {
    this.#work.log.error({}, "The shutdown exceeds its time limit: ending at once");
    void this.#work.flush().finally(() => this.#work.exit(1));
  }

  #signalled(signal: string): void {
    if (this.#work.now() < this.#echoUntil) {
      this.#echoUntil = Number.NEGATIVE_INFINITY;
      return;
    }
    if (this.begun) {
      this.#work.log.warn({ signal }, "Second signal: ending at once");
      this.#work.exit(1);
      return;
    }
    this.#work.log.info({ signal }, "Shutting down: running requests may finish; a second signal ends at once");
    this.#echoUntil = this.#work.now() + this.#work.echoMs;
    void this.begin(0);
  }

  #broken(event: string, what: unknown): void {
    this.#work.log.error({ err: what, event }, "Uncaught error: shutting down");
    void this.begin(1);
  }
}
