import type { RequestHandler } from "express";
import type { RouteList, RouteReport } from "../../openapi/resources/routes.ts";
import type { Admission } from "../admission/admission.ts";
import { sendJson } from "../http/respond.ts";
import type { ModelSet } from "../models/model-set.ts";
import type { LearnedCosts } from "../routing/learned-costs.ts";
import type { Route } from "../routing/route.ts";
import type { RouteTally } from "../routing/route-tally.ts";

export interface RouteReportDeps {
  routes: readonly Route[];
  models: Pick<ModelSet, "get">;
  admission: Pick<Admission, "predictedWaitMs">;
  costs: Pick<LearnedCosts, "meanNano">;
  routeTally: Pick<RouteTally, "of" | "latest">;
}

const USD_PER_NANO = 1e-9;

/** GET /v1/nightshift/routes */
export function listRoutes(deps: RouteReportDeps): RequestHandler {
  return (req, res) => {
    const list: RouteList = { object: "list", data: deps.routes.map((route) => routeObject(route, deps)) };
    sendJson(req, res, 200, JSON.stringify(list));
  };
}

function routeObject({ name, choose, overflow, models }: Route, deps: RouteReportDeps): RouteReport {
  const tallies = models.map((model) => ({ model, tally: deps.routeTally.of(name, model) }));
  const counts = tallies.map(({ tally }) => sum(tally.requests.values()));
  const total = sum(counts);
  const latest = deps.routeTally.latest(name);
  return {
    object: "nightshift.route",
    name,
    choose,
    overflow: [...overflow],
    models: tallies.map(({ model, tally }, index) => ({
      ...modelObject(model, deps),
      requests: Object.fromEntries(tally.requests),
      share: total === 0 ? 0 : counts[index]! / total,
      saving_usd: tally.savedNano * USD_PER_NANO,
    })),
    latest: latest === null ? null : { model: latest.model, reason: latest.reason, at: Math.floor(latest.atMs / 1000) },
    saving_usd: sum(tallies.map(({ tally }) => tally.savedNano)) * USD_PER_NANO,
  };
}

function modelObject(name: string, { models, admission, costs }: RouteReportDeps) {
  const model = models.get(name);
  const state = model?.engine.state.name ?? null;
  const nano = costs.meanNano(name);
  return {
    id: name,
    state,
    predicted_wait_ms:
      model === undefined || state !== "ready" ? null : Math.round(admission.predictedWaitMs(model, "default")),
    cost_usd: nano === null ? null : nano * USD_PER_NANO,
  };
}

function sum(values: Iterable<number>): number {
  let total = 0;
  for (const value of values) total += value;
  return total;
}
