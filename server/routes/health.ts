import type { RequestHandler } from "express";
import type { Health, ModelReadiness, Readiness, StoreReadiness } from "../../openapi/resources/health.ts";
import type { Store } from "../../store/store.ts";
import { readQuery } from "../http/query.ts";
import { sendJson } from "../http/respond.ts";
import type { ModelSet, ServedModel } from "../models/model-set.ts";

/** 200 while the process runs. */
export function health(version: string): RequestHandler {
  const body: Health = { status: "ok", version };
  const text = JSON.stringify(body);
  return (req, res) => sendJson(req, res, 200, text);
}

/**
 * 200 when the store is writable and at least one model takes requests, or would be loaded for one: `ready` when all models
 * do, else `degraded`, which `?strict` makes a 503. Else 503. The body has the state of each model. While API keys are on,
 * it has neither the models' names nor the reasons of failed engines.
 */
export function ready(
  models: ModelSet,
  store: Pick<Store, "state">,
  ending: () => boolean,
  apiKeys: boolean,
): RequestHandler {
  return (req, res) => {
    const states = models.list().map((model) => readinessOf(model, apiKeys));
    const status = ending() ? "shutting_down" : statusOf(models, store);
    const body: Readiness = { status, models: states, store: storeReadiness(store) };
    const ok = status === "ready" || (status === "degraded" && readQuery(req).strict === undefined);
    if (!ok) res.setHeader("retry-after", 1);
    sendJson(req, res, ok ? 200 : 503, JSON.stringify(body));
  };
}

function statusOf(models: ModelSet, store: Pick<Store, "state">): Readiness["status"] {
  const all = models.list();
  const serving = all.filter(servable).length;
  if (!store.state.writable || serving === 0) return "not_ready";
  return serving === all.length ? "ready" : "degraded";
}

/** A model that is loaded on demand counts as ready: its requests are answered. */
function servable({ engine: { state } }: ServedModel): boolean {
  if (state.name === "loading") return state.onDemand === true;
  return state.name === "ready" || state.name === "unloading" || state.name === "unloaded";
}

/** The reason names files of this machine and /ready needs no key: the reason is only logged. */
function storeReadiness({ state }: Pick<Store, "state">): StoreReadiness {
  return state.writable ? { state: "writable" } : { state: "not_writable", code: state.code };
}

function readinessOf({ id, engine: { state }, upstream }: ServedModel, apiKeys: boolean): ModelReadiness {
  return {
    ...(!apiKeys && { id }),
    state: state.name,
    ...(state.name === "loading" && { progress: state.progress }),
    ...(!apiKeys && upstream !== undefined && { upstream }),
    ...(!apiKeys && "reason" in state && { reason: state.reason }),
  };
}
