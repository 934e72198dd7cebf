import type { EngineStatus } from "../protocol/status.ts";

/** Milliseconds until a query is given up. An engine process answers between two pieces of a step's JavaScript. */
const REPLY_TIMEOUT_MS = 2000;

/** Queries the status of an engine process. Callers during a query share its answer. */
export class StatusQuery {
  readonly #waiting: ((status: EngineStatus | null) => void)[] = [];
  readonly #send: () => void;
  #timeout: NodeJS.Timeout | undefined;

  /** @param send sends the query to the process */
  constructor(send: () => void) {
    this.#send = send;
  }

  /** Resolves to null when no answer comes in time. */
  status(): Promise<EngineStatus | null> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      if (this.#waiting.length > 1) return;
      this.#timeout = setTimeout(() => this.answered(null), REPLY_TIMEOUT_MS);
      this.#send();
    });
  }

  /** Null: the process is gone, or did not answer in time. */
  answered(status: EngineStatus | null): void {
    clearTimeout(this.#timeout);
    for (const resolve of this.#waiting.splice(0)) resolve(status);
  }
}
