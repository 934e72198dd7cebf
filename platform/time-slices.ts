import { FairQueue } from "./fair-queue.ts";

/** Milliseconds of a slice: long against the cost of a switch, short against perceptible delays. */
const SLICE_MS = 20;

/**
 * Time-sharing of one thread between jobs: one job computes at a time, until its slice is over. Owners get equal parts
 * of the time, however long their jobs' indivisible pieces are; jobs of one owner alternate.
 */
export class TimeSlices {
  readonly #now: () => number;
  readonly #fair = new FairQueue();
  readonly #owners = new Map<string, Owner>();
  #busy = false;

  /** @param now milliseconds, monotonic */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Adds a job of this owner; `leave` removes it. */
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
      this.#busy = false;
      this.#schedule();
    };
    return {
      begin: async () => {
        const started = new Promise<void>((resolve) => owner.waiting.push(resolve));
        end();
        this.#schedule();
        await started;
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

  /** Messages and timers run between slices. */
  #schedule(): void {
    setImmediate(() => this.#next());
  }

  #next(): void {
    if (this.#busy) return;
    const waiting = [...this.#owners].filter(([, owner]) => owner.waiting.length > 0);
    const next = this.#fair.least(waiting.map(([name]) => name));
    if (next === undefined) return;
    this.#busy = true;
    this.#owners.get(next)!.waiting.shift()!();
  }
}

interface Owner {
  jobs: number;
  /** Its jobs that are queued for a slice. */
  waiting: (() => void)[];
}

/** One job's part of the thread's time. */
export interface TimeSlice {
  /** Ends the current slice, and resolves when the next one begins. */
  begin(): Promise<void>;
  over(): boolean;
  /** Ends the slice while the job waits for something else. */
  end(): void;
  leave(): void;
}
