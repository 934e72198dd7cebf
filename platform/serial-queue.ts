import { FairQueue } from "./fair-queue.ts";

interface Waiting {
  cost: number;
  begin: () => void;
}

/**
 * Runs at most `most` jobs at a time, and one of each owner. The next job is of the owner with the least service so
 * far, by the costs of its jobs; jobs of one owner run in order of arrival. A queued job that is aborted is removed at
 * once.
 */
export class SerialQueue {
  readonly #most: number;
  readonly #fair = new FairQueue();
  readonly #waiting = new Map<string, Waiting[]>();
  readonly #running = new Set<string>();

  constructor(most: number) {
    this.#most = most;
  }

  /**
   * Rejects with the signal's reason when it aborts before the job starts; a running job has to observe the signal
   * itself.
   */
  async take<T>(owner: string, cost: number, work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    signal.throwIfAborted();
    await new Promise<void>((resolve, reject) => {
      const giveUp = () => {
        this.#remove(owner, waiting);
        reject(signal.reason);
      };
      const begin = () => {
        signal.removeEventListener("abort", giveUp);
        resolve();
      };
      const waiting: Waiting = { cost, begin };
      signal.addEventListener("abort", giveUp, { once: true });
      this.#add(owner, waiting);
      this.#next();
    });
    try {
      return await work();
    } finally {
      this.#running.delete(owner);
      this.#next();
    }
  }

  #next(): void {
    while (this.#running.size < this.#most) {
      const owner = this.#fair.least([...this.#waiting.keys()].filter((one) => !this.#running.has(one)));
      const next = owner === undefined ? undefined : this.#waiting.get(owner)?.[0];
      if (owner === undefined || next === undefined) return;
      this.#fair.charge(owner, next.cost);
      this.#remove(owner, next);
      this.#running.add(owner);
      next.begin();
    }
  }

  #add(owner: string, waiting: Waiting): void {
    const queue = this.#waiting.get(owner);
    if (queue === undefined) this.#waiting.set(owner, [waiting]);
    else queue.push(waiting);
    this.#fair.join(owner);
  }

  #remove(owner: string, waiting: Waiting): void {
    const left = this.#waiting.get(owner)?.filter((one) => one !== waiting) ?? [];
    if (left.length > 0) this.#waiting.set(owner, left);
    else this.#waiting.delete(owner);
    this.#fair.leave(owner);
  }
}
