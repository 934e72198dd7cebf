import { epochSeconds } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import type { WallTime } from "../platform/wall-time.ts";

/** Ends everything that has expired by `now` (Unix seconds). Resolves with the number. */
export interface SweepTask {
  /** Name of the expired things for the log, such as "files". */
  name: string;
  run(now: number): Promise<number>;
}

/** Milliseconds between sweeps, which is the precision of expiry; the API promises hours and days. */
const INTERVAL_MS = 30_000;

/**
 * Enforces the deadlines stored in rows, so it keeps no state over a restart. The first sweep is one interval after the
 * start, so that a machine that boots with a wrong clock has time to set it.
 */
export class ExpirySweeper {
  readonly #time: WallTime;
  readonly #log: Log;
  readonly #tasks: readonly SweepTask[];
  readonly #intervalMs: number;
  #timer: NodeJS.Timeout | null = null;
  #sweeping: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(time: WallTime, log: Log, tasks: readonly SweepTask[], intervalMs = INTERVAL_MS) {
    this.#time = time;
    this.#log = log;
    this.#tasks = tasks;
    this.#intervalMs = intervalMs;
  }

  start(): void {
    this.#timer = setTimeout(() => {
      this.#sweeping = this.sweep().finally(() => {
        if (!this.#stopped) this.start();
      });
    }, this.#intervalMs);
    this.#timer.unref();
  }

  /** Resolves once a running sweep has ended. */
  async stop(): Promise<void> {
    this.#stopped = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#sweeping;
  }

  /** Checks the clocks and runs one round. A failed task is logged and does not stop the others. */
  async sweep(): Promise<void> {
    this.#time.check();
    if (!this.#time.settled) return;
    const now = epochSeconds(this.#time);
    for (const { name, run } of this.#tasks) {
      try {
        const ended = await run(now);
        if (ended > 0) this.#log.info({ what: name, ended }, "Expired");
      } catch (error) {
        this.#log.error({ what: name, err: error }, "Expiry failed; the next sweep retries it");
      }
    }
  }
}
