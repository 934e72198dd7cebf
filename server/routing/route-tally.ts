import type { Prices, TokenCounts } from "../../ledger/prices.ts";
import type { LedgerTier } from "../../store/tables/ledger.ts";
import type { Routing } from "./router.ts";

/** Receives the counts as they grow. */
export interface RouteObserver {
  routed(route: string, model: string, reason: string): void;
  saved(route: string, model: string, nano: number): void;
}

export interface RouteTallyDeps {
  prices: Pick<Prices, "costNano">;
  observer: RouteObserver;
  /** Unix milliseconds. */
  epochMs: () => number;
}

/** The model that took a request of a route, and why. */
export interface RouteChoiceMade {
  model: string;
  reason: string;
  /** Unix milliseconds. */
  atMs: number;
}

/** The counts of one model of a route since the server's start. */
export interface ModelTally {
  /** Requests by reason. */
  requests: Map<string, number>;
  /** Nano-dollars that the same tokens would have cost more at the dearest model that their keys may use. */
  savedNano: number;
}

/** Counts where the requests of each route went, and what that saved. */
export class RouteTally {
  readonly #deps: RouteTallyDeps;
  readonly #byModel = new Map<string, ModelTally>();
  readonly #latest = new Map<string, RouteChoiceMade>();

  constructor(deps: RouteTallyDeps) {
    this.#deps = deps;
  }

  /** A model took a request. */
  took({ route }: Pick<Routing, "route">, model: string, reason: string): void {
    const { requests } = this.of(route, model);
    requests.set(reason, (requests.get(reason) ?? 0) + 1);
    this.#latest.set(route, { model, reason, atMs: this.#deps.epochMs() });
    this.#deps.observer.routed(route, model, reason);
  }

  /** A request was charged. */
  charged(
    { route, candidates }: Pick<Routing, "route" | "candidates">,
    use: { model: string; tier: LedgerTier } & TokenCounts,
  ): void {
    const { prices, observer } = this.#deps;
    const cost = (model: string) => prices.costNano(model, use.tier, use);
    const saved = Math.max(...candidates.map(cost), cost(use.model)) - cost(use.model);
    this.of(route, use.model).savedNano += saved;
    observer.saved(route, use.model, saved);
  }

  /** Null before the first request of the route. */
  latest(route: string): RouteChoiceMade | null {
    return this.#latest.get(route) ?? null;
  }

  of(route: string, model: string): ModelTally {
    const key = JSON.stringify([route, model]);
    let tally = this.#byModel.get(key);
    if (tally === undefined) {
      tally = { requests: new Map(), savedNano: 0 };
      this.#byModel.set(key, tally);
    }
    return tally;
  }
}
