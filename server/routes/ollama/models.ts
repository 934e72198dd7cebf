import type { RequestHandler } from "express";
import { mayUseModel } from "../../../ledger/key.ts";
import { ApiError } from "../../../openapi/api-error.ts";
import { validate } from "../../../openapi/generation/validate.ts";
import { jsonBytes } from "../../../openapi/json/json-pieces.ts";
import {
  type OllamaLoaded,
  type OllamaTags,
  ollamaPullRequest,
  ollamaShowRequest,
} from "../../../openapi/ollama/models.ts";
import { type Clock, epochSeconds } from "../../../platform/clock.ts";
import type { Log } from "../../../platform/log.ts";
import { SerialQueue } from "../../../platform/serial-queue.ts";
import { namedModel } from "../../dialects/ollama/model-name.ts";
import { readJson } from "../../http/body/json-body.ts";
import { disconnectSignal } from "../../http/connection/client-disconnect.ts";
import { callerOf } from "../../http/context/caller.ts";
import { sendJson, sendLargeJson } from "../../http/respond.ts";
import type { Routes } from "../../http/routes.ts";
import type { ModelSet } from "../../models/model-set.ts";
import type { Residency } from "../../models/residency.ts";
import type { AppOptions } from "../../options/app-options.ts";
import { BODY_BYTES } from "../input-limits.ts";
import { describedModel, listedModel, loadedModel } from "./model-description.ts";
import { ModelInfo } from "./model-info.ts";

export interface OllamaRouteParts {
  models: ModelSet;
  residency: Pick<Residency, "idleUntil">;
  clock: Clock;
  log: Log;
  options: Pick<AppOptions, "ollama" | "stallMs">;
}

/** The version of Ollama whose API this is. Clients compare it by its parts, and some refuse below 0.14. */
const VERSION = "0.14.2";

/** Ollama's API of models; its generations and vectors are among the routes that engines answer. */
export function ollamaRoutes(parts: OllamaRouteParts): Routes {
  if (parts.options.ollama === "off") return {};
  const { models } = parts;
  return {
    "/api/version": { get: (req, res) => sendJson(req, res, 200, JSON.stringify({ version: VERSION })) },
    "/api/tags": { get: listModels(models) },
    "/api/ps": { get: listLoaded(parts) },
    "/api/show": { post: showModel(parts) },
    "/api/pull": { post: pullModel(models) },
    "/api/create": { post: unmanaged },
    "/api/copy": { post: unmanaged },
    "/api/push": { post: unmanaged },
    "/api/delete": { delete: unmanaged },
    "/api/blobs/:digest": { get: unmanaged, post: unmanaged },
  };
}

function listModels(models: ModelSet): RequestHandler {
  return (req, res) => {
    const caller = callerOf(req);
    const names = [...models.list().map(({ id }) => id), ...Object.keys(models.names.aliases)];
    const listed = names.flatMap((name) => {
      const model = models.get(name);
      return model !== undefined && mayUseModel(caller, model.id) ? [listedModel(model, name)] : [];
    });
    const body: OllamaTags = { models: listed };
    sendJson(req, res, 200, JSON.stringify(body));
  };
}

function listLoaded({ models, residency, clock }: OllamaRouteParts): RequestHandler {
  return (req, res) => {
    const caller = callerOf(req);
    const now = epochSeconds(clock);
    const loaded = models.list().flatMap(({ id, engine: { state, facts } }) => {
      if (state.name !== "ready" || facts === null || !mayUseModel(caller, id)) return [];
      const leftMs = residency.idleUntil(id);
      return [loadedModel(id, facts, leftMs === null ? null : now + Math.ceil(leftMs / 1000))];
    });
    const body: OllamaLoaded = { models: loaded };
    sendJson(req, res, 200, JSON.stringify(body));
  };
}

function showModel({ models, log, options: { stallMs } }: OllamaRouteParts): RequestHandler {
  const info = new ModelInfo(log);
  // A vocabulary with its merges takes tens of megabytes of memory.
  const vocabularies = new SerialQueue(1);
  return async (req, res) => {
    const body = validate(ollamaShowRequest, await readJson(req, res, BODY_BYTES.ollamaModel, true));
    const caller = callerOf(req);
    const found = await namedModel(models, body.model ?? body.name ?? "", caller);
    const lists = body.verbose === true;
    const written = async () => jsonBytes(describedModel(found, await info.of(found, lists)));
    const text = await (lists ? vocabularies.take(caller.owner, 1, written, disconnectSignal(res)) : written());
    sendLargeJson(req, res, text, stallMs);
  };
}

/** Nothing is downloaded: a served model is there already, and others are not found. */
function pullModel(models: ModelSet): RequestHandler {
  return async (req, res) => {
    const body = validate(ollamaPullRequest, await readJson(req, res, BODY_BYTES.ollamaModel, true));
    await namedModel(models, body.model ?? body.name ?? "", callerOf(req));
    const success = JSON.stringify({ status: "success" });
    if (body.stream === false) return sendJson(req, res, 200, success);
    res.writeHead(200, { "content-type": "application/x-ndjson" });
    res.end(`${JSON.stringify({ status: "pulling manifest" })}\n${success}\n`);
  };
}

const unmanaged: RequestHandler = (req) => {
  const message = `${req.method} ${req.path.slice(0, 64)} is not supported: the operator of this server manages its models.`;
  throw new ApiError("not_implemented", message);
};
