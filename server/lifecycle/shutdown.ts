import { setTimeout as pause } from "node:timers/promises";
import type { Log } from "../../platform/log.ts";

export interface ShutdownWork {
  /** Says to clients that this server ends; all is served on. */
  announce(): void;
  /** Milliseconds from then on to the drain, in which load balancers turn away from /ready. */
  delayMs(): number;
  /** Lets what runs finish within the grace and closes everything. */
  drain(): Promise<void>;
  /** Milliseconds after which a drain is taken to hang, on a disk that does not answer, say. */
  limitMs(): number;
  log: Log;
  /** Writes what is still to be logged. */
  flush(): Promise<void>;
  exit(code: number): void;
  /** Milliseconds, monotonic. */
  now(): number;
  /**
   * Milliseconds after the first signal in which the second one is taken for the same again. npm passes on what it gets,
   * and Ctrl-C, `timeout` and systemd have signalled its whole group already. 0 where no such parent is there.
   */
  echoMs: number;
}

/**
 * What `echoMs` is below npm, npx and the like: long enough for an npm that a busy machine keeps from running. A second
 * Ctrl-C within it ends the server all the same, by the third signal or the fourth.
 */
export const NPM_ECHO_MS = 10_000;

/** The process' events that end it. */
export interface ProcessEvents {
  on(
    event: "SIGTERM" | "SIGINT" | "uncaughtException" | "unhandledRejection",
    listener: (what: unknown) => void,
  ): unknown;
}

/**
 * | event | what follows |
 * |---|---|
 * | SIGTERM, SIGINT | not ready; after the delay nothing new, running streams finish within the grace, exit 0 |
 * | the second of them, or the third where the second is the echo of the first | exit 1 at once |
 * | a drain that does not end | exit 1 when its limit is over |
 * | uncaughtException, unhandledRejection | logged, then as SIGTERM, exit 1: the state is not to be trusted any longer |
 */
export class Shutdown {
  readonly #work: ShutdownWork;
  #running: Promise<void> | null = null;
  #exitCode = 0;
  #draining = false;
  /** Until then one more signal is the echo of the first. */
  #echoUntil = Number.NEGATIVE_INFINITY;

  constructor(work: ShutdownWork, events: ProcessEvents) {
    this.#work = work;
    for (const signal of ["SIGTERM", "SIGINT"] as const) events.on(signal, () => this.#signalled(signal));
    for (const event of ["uncaughtException", "unhandledRejection"] as const) {
      events.on(event, (what) => this.#broken(event, what));
    }
  }

  /** True from the first reason to end on. */
  get begun(): boolean {
    return this.#running !== null;
  }

  /** True once nothing new is taken. */
  get draining(): boolean {
    return this.#draining;
  }

  /** Drains and exits; a later and worse exit code counts. */
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
      this.#work.log.error({ err: error }, "Closing down failed");
      this.#exitCode = 1;
    }
    clearTimeout(overdue);
    await this.#work.flush();
    this.#work.exit(this.#exitCode);
  }

  #end(): void {
    this.#work.log.error({}, "Closing down does not come to an end: ending at once");
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
    this.#work.log.error({ err: what, event }, "An error that nothing caught: shutting down");
    void this.begin(1);
  }
}
