import { ApiError } from "../openapi/api-error.ts";

/** Reports of one owner that may wait behind the one that runs. */
const MOST_WAITING = 8;

/** Reports may read millions of rows, so of each owner one runs at a time. */
export class ReportQueue {
  readonly #owners = new Map<string, { reports: number; last: Promise<unknown> }>();

  /** Runs a report after its owner's earlier ones. Rejects with 429 when too many wait, and when the signal aborted first. */
  run<T>(owner: string, report: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const queue = this.#owners.get(owner) ?? { reports: 0, last: Promise.resolve() };
    if (queue.reports > MOST_WAITING) throw tooMany();
    queue.reports++;
    this.#owners.set(owner, queue);
    const running = queue.last.then(() => {
      signal.throwIfAborted();
      return report();
    });
    queue.last = running
      .catch(() => {})
      .then(() => {
        queue.reports--;
        if (queue.reports === 0) this.#owners.delete(owner);
      });
    return running;
  }
}

function tooMany(): ApiError {
  return new ApiError(
    "too_many_reports",
    `${MOST_WAITING} usage reports of yours wait already. Ask for one after the other.`,
    { retryAfter: 1 },
  );
}
