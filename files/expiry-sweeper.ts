import { epochSeconds } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import type { WallTime } from "../platform/wall-time.ts";

/** Ends what is over at `now` (Unix seconds) and resolves with how many it ended. */
export interface SweepTask {
  /** What is swept, for the log: "files". */
  name: string;
  run(now: number): Promise<number>;
}

/** The deadlines of files and uploads are kept to about this much; the API promises hours and days. */
const INTERVAL_MS = 30_000;

/**
 * Holds the deadlines that stand in rows, so it needs no memory over a restart. The first sweep comes one interval after
 * the start: a machine that boots with a wrong clock has had time to set it.
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

  /** Resolves when a sweep that runs has come to its end. */
  async stop(): Promise<void> {
    this.#stopped = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#sweeping;
  }

  /** One look at the clocks and one round; a task that fails is logged and does not keep the others from running. */
  async sweep(): Promise<void> {
    this.#time.look();
    if (!this.#time.settled) return;
    const now = epochSeconds(this.#time);
    for (const { name, run } of this.#tasks) {
      try {
        const ended = await run(now);
        if (ended > 0) this.#log.info({ what: name, ended }, "Expired");
      } catch (error) {
        this.#log.error({ what: name, err: error }, "Expiry failed; it is tried again at the next sweep");
      }
    }
  }
}
