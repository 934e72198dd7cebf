import { Counter, type Registry } from "prom-client";

/** Status of a request that did not come past the check of its key: unauthorized, too many wrong ones, no store. */
export type RefusedStatus = 401 | 429 | 503;

/** Requests without a valid key in the registry; those that came past are counted by their endpoints. */
export class AuthenticationMetrics {
  readonly #refused: Counter;

  constructor(registry: Registry) {
    this.#refused = new Counter({
      name: "nightshift_authentication_refused_total",
      help: "Requests that were refused before their body was read: 401 no valid key, 429 too many wrong ones, 503 no store",
      labelNames: ["status"],
      registers: [registry],
    });
    for (const status of [401, 429, 503]) this.#refused.inc({ status }, 0);
  }

  refused(status: RefusedStatus): void {
    this.#refused.inc({ status });
  }
}
