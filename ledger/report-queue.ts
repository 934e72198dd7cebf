import { ApiError } from "../openapi/api-error.ts";

/** Most queued reports of one owner, behind the one that runs. */
const MAX_WAITING = 8;

/** Runs one report of each owner at a time, as a report may read millions of rows. */
export class ReportQueue {
  readonly #owners = new Map<string, { reports: number; last: Promise<unknown> }>();

  /**
   * Runs a report after its owner's earlier ones. Rejects with 429 when the queue is full, and when the signal aborts
   * before the start.
   */
  run<T>(owner: string, report: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const queue = this.#owners.get(owner) ?? { reports: 0, last: Promise.resolve() };
    if (queue.reports > MAX_WAITING) throw tooMany();
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
    `${MAX_WAITING} of your usage reports are already queued. Request them one after the other.`,
    { retryAfter: 1 },
  );
}
