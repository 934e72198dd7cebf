import { FairQueue } from "./fair-queue.ts";

/** Long beside what a change costs, short beside what a user notices. */
const SLICE_MS = 20;

/**
 * Divides one thread's time between jobs: one of them computes at a time, until its slice is over. Owners get equal parts
 * of the time, however long the pieces are that their jobs can't divide; the jobs of one owner take turns.
 */
export class TimeSlices {
  readonly #now: () => number;
  readonly #fair = new FairQueue();
  readonly #owners = new Map<string, Owner>();
  #taken = false;

  /** @param now milliseconds, monotonic */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** A job of this owner begins; `leave` ends it. */
  join(name: string): TimeSlice {
    const owner = this.#owners.get(name) ?? { jobs: 0, waiting: [] };
    this.#owners.set(name, owner);
    owner.jobs++;
    this.#fair.join(name);
    let startedAt: number | null = null;
    const end = () => {
      if (startedAt === null) return;
      this.#fair.charge(name, this.#now() - startedAt);
      startedAt = null;
      this.#taken = false;
      this.#lookSoon();
    };
    return {
      begin: async () => {
        const turn = new Promise<void>((resolve) => owner.waiting.push(resolve));
        end();
        this.#lookSoon();
        await turn;
        startedAt = this.#now();
      },
      over: () => startedAt !== null && this.#now() - startedAt >= SLICE_MS,
      end,
      leave: () => {
        end();
        this.#fair.leave(name);
        if (--owner.jobs === 0) this.#owners.delete(name);
      },
    };
  }

  /** Between slices messages and timers have their turn. */
  #lookSoon(): void {
    setImmediate(() => this.#next());
  }

  #next(): void {
    if (this.#taken) return;
    const waiting = [...this.#owners].filter(([, owner]) => owner.waiting.length > 0);
    const next = this.#fair.least(waiting.map(([name]) => name));
    if (next === undefined) return;
    this.#taken = true;
    this.#owners.get(next)!.waiting.shift()!();
  }
}

interface Owner {
  jobs: number;
  /** Its jobs that wait for a slice. */
  waiting: (() => void)[];
}

/** One job's part of the time. */
export interface TimeSlice {
  /** Ends the slice that it has, and resolves when its next one begins. */
  begin(): Promise<void>;
  over(): boolean;
  /** The job waits for something else. */
  end(): void;
  leave(): void;
}
