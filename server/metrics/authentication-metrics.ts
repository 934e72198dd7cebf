import { Counter, type Registry } from "prom-client";

/** Status of a request that the API key check refused: no valid key, too many wrong keys, store unavailable. */
export type RefusedStatus = 401 | 429 | 503;

/** Counts requests that the API key check refused. Admitted requests are counted by their endpoint. */
export class AuthenticationMetrics {
  readonly #refused: Counter;

  constructor(registry: Registry) {
    this.#refused = new Counter({
      name: "nightshift_authentication_refused_total",
      help: "Requests that the API key check refused: 401 no valid key, 429 too many wrong keys, 503 store unavailable",
      labelNames: ["status"],
      registers: [registry],
    });
    for (const status of [401, 429, 503]) this.#refused.inc({ status }, 0);
  }

  refused(status: RefusedStatus): void {
    this.#refused.inc({ status });
  }
}
