/** Changes of one thing, from the start of the watch on. */
export interface Watch {
  /** True once nothing is to be waited for. */
  readonly over: boolean;
  /** Resolves at a change since the last one that was waited for, after `ms` without any, and when the watch is over. */
  change(ms: number): Promise<void>;
  close(): void;
}

/** Tells those that wait that something has changed, which they then read. */
export class Changes {
  readonly #watches = new Map<string, Set<() => void>>();
  readonly #closing = new AbortController();

  notify(id: string): void {
    for (const wake of this.#watches.get(id) ?? []) wake();
  }

  /** Ends all watches. */
  close(): void {
    this.#closing.abort();
  }

  watch(id: string, signal: AbortSignal): Watch {
    const over = AbortSignal.any([signal, this.#closing.signal]);
    let changed = false;
    let wake = () => {};
    const notified = () => {
      changed = true;
      wake();
    };
    const watching = this.#watches.get(id) ?? new Set();
    this.#watches.set(id, watching.add(notified));
    const stop = () => wake();
    over.addEventListener("abort", stop);
    return {
      get over() {
        return over.aborted;
      },
      async change(ms) {
        if (!changed && !over.aborted) {
          await new Promise<void>((resolve) => {
            const timer = setTimeout(resolve, ms);
            wake = () => {
              clearTimeout(timer);
              resolve();
            };
          });
        }
        changed = false;
      },
      close: () => {
        over.removeEventListener("abort", stop);
        watching.delete(notified);
        if (watching.size === 0) this.#watches.delete(id);
      },
    };
  }
}
