import { Counter, type Registry } from "prom-client";
import type { RateLimit } from "../../ledger/rate-limits.ts";

const REFUSALS = ["requests", "tokens", "concurrent", "budget"] as const satisfies readonly (RateLimit | "budget")[];
export type Refusal = (typeof REFUSALS)[number];

/** Counts budget warnings. */
export class BudgetMetrics {
  readonly #warnings: Counter;

  constructor(registry: Registry) {
    this.#warnings = new Counter({
      name: "nightshift_budget_warnings_total",
      help: "Budgets spent beyond their soft ratio, once per budget and period",
      registers: [registry],
    });
  }

  warned(): void {
    this.#warnings.inc();
  }
}

/** Counts requests that limits and budgets refuse. */
export class LimitMetrics {
  readonly #refusals: Counter;

  constructor(registry: Registry) {
    this.#refusals = new Counter({
      name: "nightshift_limit_refusals_total",
      help: "Requests refused by a rate limit of their key (requests, tokens, concurrent) or a used-up budget",
      labelNames: ["model", "status"],
      registers: [registry],
    });
  }

  /** Begins the series of a model: rate() sees the first increase of a series only if the series exists before it. */
  watch(model: string): void {
    for (const status of REFUSALS) this.#refusals.inc({ model, status }, 0);
  }

  refused(model: string, by: Refusal): void {
    this.#refusals.inc({ model, status: by });
  }
}
