interface Waiter<T> {
  resolve(value: T): void;
  reject(error: unknown): void;
}

/** Calls that wait for one event. A call whose signal aborts is removed at once: many may come and go before the event. */
export class Waiters<T> {
  readonly #waiting = new Set<Waiter<T>>();

  get size(): number {
    return this.#waiting.size;
  }

  /** Rejects with the signal's reason when it aborts first. */
  add(signal?: AbortSignal): Promise<T> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const abort = () => {
        this.#waiting.delete(waiter);
        reject(signal?.reason);
      };
      const settled = () => signal?.removeEventListener("abort", abort);
      const waiter: Waiter<T> = {
        resolve: (value) => {
          settled();
          resolve(value);
        },
        reject: (error) => {
          settled();
          reject(error);
        },
      };
      this.#waiting.add(waiter);
      signal?.addEventListener("abort", abort, { once: true });
    });
  }

  resolveAll(value: T): void {
    for (const waiter of this.#take()) waiter.resolve(value);
  }

  rejectAll(error: unknown): void {
    for (const waiter of this.#take()) waiter.reject(error);
  }

  #take(): Waiter<T>[] {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    return waiting;
  }
}
