import { Counter, type Registry } from "prom-client";
import type { RateLimit } from "../../ledger/rate-limits.ts";

const REFUSALS = ["requests", "tokens", "concurrent", "budget"] as const satisfies readonly (RateLimit | "budget")[];
export type Refusal = (typeof REFUSALS)[number];

/** Budgets past their soft ratio, as warnings tell them. */
export class BudgetMetrics {
  readonly #warnings: Counter;

  constructor(registry: Registry) {
    this.#warnings = new Counter({
      name: "nightshift_budget_warnings_total",
      help: "Budgets that were spent up to their soft ratio, each once in its period",
      registers: [registry],
    });
  }

  warned(): void {
    this.#warnings.inc();
  }
}

/** What keys' limits and budgets keep out, in the registry. */
export class LimitMetrics {
  readonly #refusals: Counter;

  constructor(registry: Registry, models: readonly string[]) {
    this.#refusals = new Counter({
      name: "nightshift_limit_refusals_total",
      help: "Requests refused by a limit of their key (requests, tokens, concurrent) or a used-up budget",
      labelNames: ["model", "status"],
      registers: [registry],
    });
    // A series that is there from the start shows its first increase as one.
    for (const model of models) for (const status of REFUSALS) this.#refusals.inc({ model, status }, 0);
  }

  refused(model: string, by: Refusal): void {
    this.#refusals.inc({ model, status: by });
  }
}
