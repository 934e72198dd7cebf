import type { ServerResponse } from "node:http";
import type { Caller } from "../../ledger/key.ts";
import type { RouteMetrics } from "../metrics/route-metrics.ts";
import { NO_TRAITS } from "../routing/request-traits.ts";
import type { Router, Routing } from "../routing/router.ts";
import type { InferenceRequest } from "./endpoint.ts";

/** Routes requests whose model is a route, and tells the client and the metrics which model was taken. */
export class RequestRouter {
  readonly #router: Router;
  readonly #metrics: Pick<RouteMetrics, "routed">;

  constructor(router: Router, metrics: Pick<RouteMetrics, "routed">) {
    this.#router = router;
    this.#metrics = metrics;
  }

  /** True for a route of which the caller may use a model. */
  reaches(name: string, caller: Caller): boolean {
    return this.#router.reaches(name, caller);
  }

  /** Null for a request that names a model. */
  route(request: Pick<InferenceRequest, "model" | "tier" | "traits">, caller: Caller): Routing | null {
    const { model, tier } = request;
    return this.#router.has(model)
      ? this.#router.route(model, request.traits?.() ?? NO_TRAITS, { tier: tier ?? "default", caller })
      : null;
  }

  /** The request was admitted to this model. */
  taken({ route, models, reason }: Routing, model: string, res: ServerResponse): void {
    const why = model === models[0] ? reason : "overflow";
    if (!res.headersSent) res.setHeader("x-nightshift-route", encodeURI(`${route}=${model}; ${why}`));
    this.#metrics.routed(model, why);
  }
}
