/** Work that is done one after the other. Whoever is given up while it waits loses its turn at once. */
export class Turns {
  #last: Promise<unknown> = Promise.resolve();

  /** Rejects with the signal's reason when that aborts before the turn has come; afterwards the work has to end itself. */
  take<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    return new Promise((resolve, reject) => {
      signal.throwIfAborted();
      const giveUp = () => reject(signal.reason);
      signal.addEventListener("abort", giveUp, { once: true });
      const turn = this.#last.then(() => {
        signal.removeEventListener("abort", giveUp);
        signal.throwIfAborted();
        return work();
      });
      this.#last = turn.catch(() => {});
      turn.then(resolve, reject);
    });
  }
}
