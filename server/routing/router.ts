import type { OnlineTier } from "../../engine/protocol/request.ts";
import { type Caller, mayUseModel } from "../../ledger/key.ts";
import { NO_TRAITS, type RequestTraits } from "./request-traits.ts";
import type { Route, RouteCondition } from "./route.ts";

/** The present state of a model, as far as routes depend on it. */
export interface RouteModel {
  /** False while its engine takes no requests. */
  ready: boolean;
  /** Of a request that comes now, in milliseconds. */
  predictedWaitMs: number;
  /** The objective for the time to first token; null while unknown. */
  objectiveMs: number | null;
  /** Nano-dollars that a request like this one is expected to cost. */
  costNano: number;
}

export interface RouterDeps {
  routes: readonly Route[];
  /** Undefined for a model that is not served now. */
  stateOf: (model: string, tier: OnlineTier, traits: RequestTraits) => RouteModel | undefined;
  /** Unix milliseconds. */
  epochMs: () => number;
}

/** A request as far as its route depends on it. */
export interface RoutableRequest {
  /** A name of a model or a route; null for the only model that the key may use. */
  readonly model: string | null;
  /** Null where the request names no tier: then any key may send it, and it waits for its model as `default`. */
  readonly tier: OnlineTier | null;
  /** Its properties. Absent where no rule can depend on any. */
  traits?(): RequestTraits;
}

/** The models for one request, best first, and why the first is. */
export interface Routing {
  route: string;
  models: readonly string[];
  /** The models of the route that the key may use. */
  candidates: readonly string[];
  /** True where the route lets a request for which all of them have no room run at tier flex, if its client does. */
  flex: boolean;
  /** `rule 2`, `first`, `cheapest`, `fastest`. */
  reason: string;
}

/** A choice by cost changes only for a model that is cheaper by this share: prefixes are cached where the last requests went. */
const WORTHWHILE = 0.1;

/** Chooses the model of a request whose name is a route's. */
export class Router {
  readonly #deps: RouterDeps;
  readonly #byName: Map<string, Route>;
  /** The latest choice by cost, of each route. */
  readonly #latest = new Map<string, string>();

  constructor(deps: RouterDeps) {
    this.#deps = deps;
    this.#byName = new Map(deps.routes.map((route) => [route.name, route]));
  }

  /** True for a route of which the caller may use a model. */
  reaches(name: string, caller: Caller): boolean {
    return this.#byName.get(name)?.models.some((model) => mayUseModel(caller, model)) ?? false;
  }

  /** Null for a name that is no route's, and where the key may use none of its models. */
  route(request: RoutableRequest, caller: Caller): Routing | null {
    const route = request.model === null ? undefined : this.#byName.get(request.model);
    const models = route?.models.filter((model) => mayUseModel(caller, model)) ?? [];
    if (route === undefined || models.length === 0) return null;
    const tier = request.tier ?? "default";
    const traits = request.traits?.() ?? NO_TRAITS;
    const states = new Map(models.map((model) => [model, this.#deps.stateOf(model, tier, traits)]));
    const number = route.rules.findIndex(
      ({ when, model }) =>
        models.includes(model) && this.#holds(when, traits, { tier, caller, first: states.get(models[0]!) }),
    );
    const byRule = route.rules[number]?.model;
    const chosen = byRule ?? this.#byState(route, models, states);
    const reason = byRule === undefined ? route.choose : `rule ${number + 1}`;
    const others = route.overflow.includes("model") ? models.filter((model) => model !== chosen) : [];
    return {
      route: route.name,
      models: [chosen, ...others],
      candidates: models,
      flex: route.overflow.includes("flex"),
      reason,
    };
  }

  #byState(
    { name, choose }: Route,
    models: readonly string[],
    states: ReadonlyMap<string, RouteModel | undefined>,
  ): string {
    const first = models[0]!;
    if (choose === "first") return first;
    const ready = models.filter((model) => states.get(model)?.ready);
    if (ready.length === 0) return first;
    const wait = (model: string) => states.get(model)!.predictedWaitMs;
    const fastest = ready.reduce((best, model) => (wait(model) < wait(best) ? model : best));
    if (choose === "fastest") return fastest;
    const timely = ready.filter((model) => wait(model) <= (states.get(model)!.objectiveMs ?? Number.POSITIVE_INFINITY));
    const chosen = timely.length === 0 ? fastest : this.#cheapest(name, timely, (model) => states.get(model)!.costNano);
    this.#latest.set(name, chosen);
    return chosen;
  }

  #cheapest(name: string, models: readonly string[], cost: (model: string) => number): string {
    const cheapest = models.reduce((best, model) => (cost(model) < cost(best) ? model : best));
    const latest = this.#latest.get(name);
    if (latest === undefined || !models.includes(latest)) return cheapest;
    return cost(cheapest) < cost(latest) * (1 - WORTHWHILE) ? cheapest : latest;
  }

  #holds(
    when: RouteCondition,
    traits: RequestTraits,
    { tier, caller, first }: { tier: OnlineTier; caller: Caller; first: RouteModel | undefined },
  ): boolean {
    const { promptTokens, tools, form, tiers, owners, text, waitMs, hours } = when;
    if (promptTokens !== undefined && traits.promptTokens < promptTokens) return false;
    if (tools !== undefined && traits.tools !== tools) return false;
    if (form !== undefined && traits.form !== form) return false;
    if (tiers !== undefined && !tiers.includes(tier)) return false;
    if (owners !== undefined && !owners.includes(caller.owner)) return false;
    if (text !== undefined && !text.test(traits.text)) return false;
    // A model that takes no requests has no wait that ends.
    if (waitMs !== undefined && first?.ready && first.predictedWaitMs < waitMs) return false;
    return hours === undefined || hours.inside(this.#deps.epochMs());
  }
}
