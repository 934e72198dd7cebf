interface Waiting {
  priority: number;
  start: () => void;
}

/** Requests that a fake upstream computes at once, and its queue; lower priorities start first, then older requests. */
export class Slots {
  readonly #slots: number;
  readonly #queue: number;
  #running = 0;
  #waiting: Waiting[] = [];

  constructor(slots: number, queue: number) {
    this.#slots = slots;
    this.#queue = queue;
  }

  get running(): number {
    return this.#running;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  /** True when a further request would be refused. */
  get full(): boolean {
    return this.#running >= this.#slots && this.#waiting.length >= this.#queue;
  }

  /** Resolves when the request has a slot, which `leave` frees; rejects when it is aborted before. */
  async enter(priority: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#running < this.#slots) {
      this.#running++;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const waiting = { priority, start: resolve };
      const at = this.#waiting.findIndex((other) => other.priority > priority);
      this.#waiting.splice(at === -1 ? this.#waiting.length : at, 0, waiting);
      signal.addEventListener("abort", () => {
        this.#waiting = this.#waiting.filter((other) => other !== waiting);
        reject(signal.reason);
      });
    });
  }

  /** The slot passes to the next request that waits. */
  leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#running--;
    else next.start();
  }
}
