import type { Log } from "../../platform/log.ts";

/** A part of the server, such as its store. */
export interface Part<T> {
  /** For the log. */
  name: string;
  start(): T | Promise<T>;
  /** Begins to stop while the parts that depend on it still run; its result is not awaited. */
  beginStop?(started: T): unknown;
  stop?(started: T): unknown;
}

/** The start was asked for after the stop. */
export class StopRequested extends Error {
  constructor(name: string) {
    super(`The server stops: ${name} is not started.`);
  }
}

interface Running {
  name: string;
  beginStop(): unknown;
  stop(): unknown;
}

/**
 * The parts of a server: started in order, stopped in reverse.
 *
 * | event | what follows |
 * |---|---|
 * | a part fails to start | `run` stops those that have started, then rejects |
 * | `stop` while a part starts | that start is awaited; no further part starts; then all stop |
 * | a part fails to stop | logged; the others are stopped all the same; `stop` rejects at the end |
 */
export class Parts {
  readonly #log: Log;
  readonly #running: Running[] = [];
  #starting: Promise<unknown> = Promise.resolve();
  #stopping: Promise<void> | null = null;

  constructor(log: Log) {
    this.#log = log;
  }

  /** In the order in which they started. */
  get names(): string[] {
    return this.#running.map(({ name }) => name);
  }

  /** Resolves with what the part's start returned. Rejects with StopRequested once a stop was asked for. */
  start<T>(part: Part<T>): Promise<T> {
    if (this.#stopping !== null) return Promise.reject(new StopRequested(part.name));
    const started = this.#start(part);
    this.#starting = started.catch(() => {});
    return started;
  }

  /** Resolves with what `compose` starts; with null where a stop came in between. */
  async run<T>(compose: () => Promise<T>): Promise<T | null> {
    try {
      const composed = await compose();
      return this.#stopping === null ? composed : null;
    } catch (error) {
      if (this.#stopping === null) {
        await this.stop().catch(() => {});
        throw error;
      }
      if (!(error instanceof StopRequested))
        this.#log.warn({ err: error }, "The start failed while the server stopped");
      return null;
    }
  }

  /** Stops every part, the last one that started first; a second call waits for the first. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #start<T>(part: Part<T>): Promise<T> {
    const value = await part.start();
    this.#running.push({
      name: part.name,
      beginStop: () => part.beginStop?.(value),
      stop: () => part.stop?.(value),
    });
    return value;
  }

  async #stop(): Promise<void> {
    await this.#starting;
    for (const { beginStop } of this.#running) beginStop();
    const failed: string[] = [];
    for (const { name, stop } of this.#running.reverse()) {
      try {
        await stop();
      } catch (error) {
        this.#log.error({ err: error, part: name }, "A part of the server could not be stopped");
        failed.push(name);
      }
    }
    if (failed.length > 0) throw new Error(`not stopped: ${failed.join(", ")}`);
  }
}
