import { Counter, type Registry } from "prom-client";

const USD_PER_NANO = 1e-9;

/** Counts where the requests of routes went, and what that saved. */
export class RouteMetrics {
  readonly #routed: Counter<"route" | "model" | "status">;
  readonly #saved: Counter<"route" | "model">;

  /** Counters of these routes begin with 0, so that a first increase is seen. */
  constructor(registry: Registry, routes: readonly { name: string; models: readonly string[] }[]) {
    this.#routed = new Counter({
      name: "nightshift_routed_requests_total",
      help: "Requests for routes, by the route and the model that took them; status is the reason: rule n, first, cheapest, fastest, overflow, flex",
      labelNames: ["route", "model", "status"],
      registers: [registry],
    });
    this.#saved = new Counter({
      name: "nightshift_route_saving_usd_total",
      help: "What the tokens of routed requests would have cost more at the dearest model of their route, by route and model that took them",
      labelNames: ["route", "model"],
      registers: [registry],
    });
    for (const { name: route, models } of routes) {
      for (const model of models) this.#saved.inc({ route, model }, 0);
    }
  }

  routed(route: string, model: string, reason: string): void {
    this.#routed.inc({ route, model, status: reason });
  }

  saved(route: string, model: string, nano: number): void {
    this.#saved.inc({ route, model }, nano * USD_PER_NANO);
  }
}
