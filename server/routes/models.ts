import type { RequestHandler } from "express";
import { isPattern } from "../../engine/model-names.ts";
import { mayUseModel } from "../../ledger/key.ts";
import type { ModelInfo } from "../../openapi/anthropic/models.ts";
import { type AnthropicPage, anthropicPageQuery } from "../../openapi/anthropic/page.ts";
import { validate } from "../../openapi/generation/validate.ts";
import type { Model, ModelList } from "../../openapi/resources/models.ts";
import { findModel } from "../admission/model-lookup.ts";
import { modelInfo, modelPage } from "../dialects/anthropic/models.ts";
import { callerOf } from "../http/context/caller.ts";
import { isOfAnthropic } from "../http/error-format.ts";
import { readQuery } from "../http/query.ts";
import { sendJson } from "../http/respond.ts";
import type { Routes } from "../http/routes.ts";
import type { ModelSet, ServedModel } from "../models/model-set.ts";

export interface ModelRouteParts {
  models: ModelSet;
}

export function modelRoutes({ models }: ModelRouteParts): Routes {
  return {
    "/v1/models": { get: listModels(models) },
    "/v1/models/:model": { get: retrieveModel(models) },
  };
}

function listModels(models: ModelSet): RequestHandler {
  return (req, res) => {
    const caller = callerOf(req);
    const allowed = ({ id }: ServedModel) => mayUseModel(caller, id);
    const served = models.list().filter(allowed);
    const own = served.map((model) => describe(model, model.id));
    const further = Object.keys(models.names.aliases).flatMap((alias) => {
      const model = isPattern(alias) ? undefined : models.get(alias);
      return model !== undefined && allowed(model) ? [describe(model, alias)] : [];
    });
    const all = [...own, ...further];
    const list: ModelList | AnthropicPage<ModelInfo> = isOfAnthropic(req)
      ? modelPage(all, validate(anthropicPageQuery, readQuery(req)))
      : { object: "list", data: all };
    sendJson(req, res, 200, JSON.stringify(list));
  };
}

/** Throws 404 model_not_found for any name that is not served. */
function retrieveModel(models: ModelSet): RequestHandler {
  return async (req, res) => {
    // Names may have slashes, plain or as %2F.
    const { model } = req.params;
    const name = Array.isArray(model) ? model.join("/") : String(model);
    await models.search(name);
    const found = findModel(models, name, callerOf(req));
    const isAlias = Object.hasOwn(models.names.aliases, name);
    const described = describe(found, isAlias ? name : found.id);
    sendJson(req, res, 200, JSON.stringify(isOfAnthropic(req) ? modelInfo(described) : described));
  };
}

/** The API object of a model under one of its names. */
function describe({ id, created, engine: { state, facts }, upstream }: ServedModel, name: string): Model {
  const nightshift = {
    alias_of: name === id ? null : id,
    state: state.name,
    context: facts?.context ?? null,
    adapters: facts?.local?.adapters ?? null,
    upstream: upstream ?? null,
  };
  return { id: name, object: "model", created, owned_by: "nightshift", nightshift };
}
