import { Counter, type Registry } from "prom-client";

/** Counts where the requests of routes went. */
export class RouteMetrics {
  readonly #routed: Counter<"model" | "status">;

  constructor(registry: Registry) {
    this.#routed = new Counter({
      name: "nightshift_routed_requests_total",
      help: "Requests for routes, by the model that took them; status is the reason: rule n, first, cheapest, fastest, overflow",
      labelNames: ["model", "status"],
      registers: [registry],
    });
  }

  routed(model: string, reason: string): void {
    this.#routed.inc({ model, status: reason });
  }
}
