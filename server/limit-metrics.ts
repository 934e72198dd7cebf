import { Counter, type Registry } from "prom-client";
import type { RateLimit } from "../ledger/rate-limits.ts";

export type Refusal = RateLimit | "budget";

/** What keys' limits and budgets keep out, in the registry. */
export class LimitMetrics {
  readonly #refusals: Counter;

  constructor(registry: Registry) {
    this.#refusals = new Counter({
      name: "nightshift_limit_refusals_total",
      help: "Requests refused by a limit of their key (requests, tokens, concurrent) or a used-up budget",
      labelNames: ["model", "status"],
      registers: [registry],
    });
  }

  refused(model: string, by: Refusal): void {
    this.#refusals.inc({ model, status: by });
  }
}
