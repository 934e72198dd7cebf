import type { OnlineTier } from "../../engine/protocol/request.ts";
import { type Caller, mayUseModel } from "../../ledger/key.ts";
import { promptClass } from "./learned-costs.ts";
import { NO_TRAITS, type RequestTraits } from "./request-traits.ts";
import type { Route, RouteCondition } from "./route.ts";
import { SteadyChoice } from "./steady-choice.ts";

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
  /** Milliseconds, monotonic. */
  now: () => number;
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
const CHEAPER = 0.1;
/** A choice by wait changes only for a wait that is shorter by this share, and by as many milliseconds. */
const SHORTER = 0.2;
const SHORTER_MS = 100;

/** The state of the models for one request. */
interface Situation {
  tier: OnlineTier;
  traits: RequestTraits;
  caller: Caller;
  /** The models that the key may use, of which there is one at least. */
  models: readonly string[];
  states: ReadonlyMap<string, RouteModel | undefined>;
  budgetLeft: number | null;
}

/** Chooses the model of a request whose name is a route's. */
export class Router {
  readonly #deps: RouterDeps;
  readonly #byName: Map<string, Route>;
  /** Choices by load, for each route, tier, class of prompt and models that a key may use. */
  readonly #choices = new Map<string, SteadyChoice<string>>();
  /** Whether a wait is as long as a rule names. */
  readonly #waits = new Map<string, SteadyChoice<boolean>>();

  constructor(deps: RouterDeps) {
    this.#deps = deps;
    this.#byName = new Map(deps.routes.map((route) => [route.name, route]));
  }

  /** True for a route of which the caller may use a model. */
  reaches(name: string, caller: Caller): boolean {
    return this.#byName.get(name)?.models.some((model) => mayUseModel(caller, model)) ?? false;
  }

  /** True for a route with a rule on budgets. */
  readsBudget(name: string | null): boolean {
    const rules = name === null ? undefined : this.#byName.get(name)?.rules;
    return rules?.some(({ when }) => when.budgetLeft !== undefined) ?? false;
  }

  /**
   * Null for a name that is no route's, and where the key may use none of its models.
   *
   * @param budgetLeft the least share that is left of a budget of the caller; null without one
   */
  route(request: RoutableRequest, caller: Caller, budgetLeft: number | null): Routing | null {
    const route = request.model === null ? undefined : this.#byName.get(request.model);
    const models = route?.models.filter((model) => mayUseModel(caller, model)) ?? [];
    if (route === undefined || models.length === 0) return null;
    const tier = request.tier ?? "default";
    const traits = request.traits?.() ?? NO_TRAITS;
    const states = new Map(models.map((model) => [model, this.#deps.stateOf(model, tier, traits)]));
    const situation = { tier, traits, caller, models, states, budgetLeft };
    const number = route.rules.findIndex(
      ({ when, model }, index) => models.includes(model) && this.#holds(when, `${route.name} ${index}`, situation),
    );
    const byRule = route.rules[number]?.model;
    const chosen = byRule ?? this.#byState(route, situation);
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

  #byState({ name, choose }: Route, { models, states, tier, traits }: Situation): string {
    const first = models[0]!;
    if (choose === "first") return first;
    const ready = new Map(
      models.flatMap((model): [string, RouteModel][] => {
        const state = states.get(model);
        return state?.ready ? [[model, state]] : [];
      }),
    );
    if (ready.size === 0) return first;
    const choice = memberOf(
      this.#choices,
      JSON.stringify([name, tier, promptClass(traits.promptTokens), models]),
      () => new SteadyChoice<string>(),
    );
    const propose = choose === "fastest" ? fastest : cheapest;
    return choice.next(
      this.#deps.now(),
      (latest) => propose(ready, latest),
      (latest) => ready.has(latest),
    );
  }

  #holds(when: RouteCondition, rule: string, { tier, traits, caller, models, states, budgetLeft }: Situation): boolean {
    const { promptTokens, tools, form, tiers, owners, text, waitMs, hours } = when;
    if (promptTokens !== undefined && traits.promptTokens < promptTokens) return false;
    if (tools !== undefined && traits.tools !== tools) return false;
    if (form !== undefined && traits.form !== form) return false;
    if (tiers !== undefined && !tiers.includes(tier)) return false;
    if (owners !== undefined && !owners.includes(caller.owner)) return false;
    if (when.budgetLeft !== undefined && (budgetLeft === null || budgetLeft > when.budgetLeft)) return false;
    if (hours !== undefined && !hours.inside(this.#deps.epochMs())) return false;
    if (text !== undefined && !text.test(traits.text)) return false;
    return waitMs === undefined || this.#waitsLong(`${rule} ${tier} ${models[0]}`, states.get(models[0]!), waitMs);
  }

  #waitsLong(key: string, first: RouteModel | undefined, waitMs: number): boolean {
    // A model that takes no requests has no wait that ends.
    if (!first?.ready) return true;
    const choice = memberOf(this.#waits, key, () => new SteadyChoice<boolean>());
    return choice.next(
      this.#deps.now(),
      (latest) => first.predictedWaitMs >= (latest === true ? waitMs * (1 - SHORTER) : waitMs),
    );
  }
}

/** The model with the shortest wait; the latest while no wait is shorter by the margin. */
function fastest(states: ReadonlyMap<string, RouteModel>, latest?: string): string {
  const best = least(states, ({ predictedWaitMs }) => predictedWaitMs);
  const now = latest === undefined ? undefined : states.get(latest)?.predictedWaitMs;
  if (now === undefined) return best;
  return states.get(best)!.predictedWaitMs < now - Math.max(SHORTER_MS, SHORTER * now) ? best : latest!;
}

/** The cheapest model of those within their objectives, else the fastest; the latest while none is cheaper by the margin. */
function cheapest(states: ReadonlyMap<string, RouteModel>, latest?: string): string {
  const timely = new Map(
    [...states].filter(
      ([, { predictedWaitMs, objectiveMs }]) => predictedWaitMs <= (objectiveMs ?? Number.POSITIVE_INFINITY),
    ),
  );
  if (timely.size === 0) return fastest(states, latest);
  const best = least(timely, ({ costNano }) => costNano);
  const now = latest === undefined ? undefined : timely.get(latest)?.costNano;
  if (now === undefined) return best;
  return timely.get(best)!.costNano < now * (1 - CHEAPER) ? best : latest!;
}

/** The first of the models with the least value. */
function least(states: ReadonlyMap<string, RouteModel>, value: (state: RouteModel) => number): string {
  const [[best]] = [...states].sort(([, a], [, b]) => value(a) - value(b)) as [[string, RouteModel]];
  return best;
}

function memberOf<T>(all: Map<string, T>, key: string, make: () => T): T {
  const known = all.get(key);
  if (known !== undefined) return known;
  const made = make();
  all.set(key, made);
  return made;
}
