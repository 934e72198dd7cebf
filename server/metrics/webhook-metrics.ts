import { Counter, type Registry } from "prom-client";
import type { WebhookObserver } from "../../webhooks/delivery.ts";

/** Counts webhook attempts. */
export class WebhookMetrics implements WebhookObserver {
  readonly #attempts: Counter;

  constructor(registry: Registry) {
    this.#attempts = new Counter({
      name: "nightshift_webhook_deliveries_total",
      help: "Webhook attempts by outcome: delivered, failed (retried), dead (given up)",
      labelNames: ["status"],
      registers: [registry],
    });
    for (const status of ["delivered", "failed", "dead"]) this.#attempts.inc({ status }, 0);
  }

  delivered(): void {
    this.#attempts.inc({ status: "delivered" });
  }

  failed(): void {
    this.#attempts.inc({ status: "failed" });
  }

  dead(count: number): void {
    this.#attempts.inc({ status: "dead" }, count);
  }
}
