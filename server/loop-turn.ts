let last: Promise<void> = Promise.resolve();

/**
 * Resolves in a turn of the event loop in which nobody else's did: the next slice of long work may run. So requests that
 * come, and streams that are written, wait for one slice at most, however much long work there is.
 */
export function loopTurn(): Promise<void> {
  last = last.then(() => new Promise((resolve) => setImmediate(resolve)));
  return last;
}
