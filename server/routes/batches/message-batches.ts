import { once } from "node:events";
import type { Request, RequestHandler } from "express";
import type { MessageBatches } from "../../../batch/api/message-batches.ts";
import { mayUseModel } from "../../../ledger/key.ts";
import type { MessageBatch } from "../../../openapi/anthropic/batches.ts";
import { anthropicPageQuery } from "../../../openapi/anthropic/page.ts";
import { validate } from "../../../openapi/generation/validate.ts";
import { checkTier } from "../../auth/access-control.ts";
import { readJson } from "../../http/body/json-body.ts";
import { callerOf } from "../../http/context/caller.ts";
import { readQuery } from "../../http/query.ts";
import { sendJson } from "../../http/respond.ts";
import type { Routes } from "../../http/routes.ts";
import { fromStore } from "../../http/store-error-response.ts";
import type { ModelSet } from "../../models/model-set.ts";
import type { AppOptions } from "../../options/app-options.ts";

export interface MessageBatchRouteParts {
  messageBatches: MessageBatches;
  models: ModelSet;
  options: Pick<AppOptions, "bodyLimit" | "stallMs">;
}

export function messageBatchRoutes(parts: MessageBatchRouteParts): Routes {
  const { messageBatches: batches } = parts;
  return {
    "/v1/messages/batches": { get: listBatches(batches), post: createBatch(parts) },
    "/v1/messages/batches/:id": { get: retrieveBatch(batches), delete: deleteBatch(batches) },
    "/v1/messages/batches/:id/cancel": { post: cancelBatch(batches) },
    "/v1/messages/batches/:id/results": { get: batchResults(parts) },
  };
}

/** POST /v1/messages/batches */
function createBatch({ messageBatches, models, options }: MessageBatchRouteParts): RequestHandler {
  return async (req, res) => {
    const body = await readJson(req, res, options.bodyLimit);
    const caller = callerOf(req);
    checkTier(caller, "batch");
    const serves = (name: string) => {
      const model = models.get(name);
      return model !== undefined && mayUseModel(caller, model.id);
    };
    const batch = await fromStore(messageBatches.create(caller, body, serves));
    sendJson(req, res, 200, written(req, batch));
  };
}

/** GET /v1/messages/batches */
function listBatches(batches: MessageBatches): RequestHandler {
  return async (req, res) => {
    const query = validate(anthropicPageQuery, readQuery(req));
    const page = await fromStore(batches.list(callerOf(req).owner, query));
    const data = page.data.map((batch) => withUrl(req, batch));
    sendJson(req, res, 200, JSON.stringify({ ...page, data }));
  };
}

/** GET /v1/messages/batches/{id} */
function retrieveBatch(batches: MessageBatches): RequestHandler {
  return async (req, res) => {
    const batch = await fromStore(batches.get(callerOf(req).owner, String(req.params.id)));
    sendJson(req, res, 200, written(req, batch));
  };
}

/** DELETE /v1/messages/batches/{id} */
function deleteBatch(batches: MessageBatches): RequestHandler {
  return async (req, res) => {
    const id = String(req.params.id);
    await fromStore(batches.remove(callerOf(req).owner, id));
    sendJson(req, res, 200, JSON.stringify({ id, type: "message_batch_deleted" }));
  };
}

/** POST /v1/messages/batches/{id}/cancel */
function cancelBatch(batches: MessageBatches): RequestHandler {
  return async (req, res) => {
    const batch = await fromStore(batches.cancel(callerOf(req).owner, String(req.params.id)));
    sendJson(req, res, 200, written(req, batch));
  };
}

/** GET /v1/messages/batches/{id}/results: a line for each request, written as fast as its reader reads. */
function batchResults({ messageBatches, options }: MessageBatchRouteParts): RequestHandler {
  return async (req, res) => {
    const results = await fromStore(messageBatches.results(callerOf(req).owner, String(req.params.id)));
    res.setHeader("content-type", "application/x-jsonl");
    res.setTimeout(options.stallMs, () => res.destroy());
    const closed = new AbortController();
    res.once("close", () => closed.abort());
    for await (const result of results) {
      if (res.destroyed) return;
      const drained = res.write(`${JSON.stringify(result)}\n`);
      if (!drained) await once(res, "drain", { signal: closed.signal }).catch(() => {});
    }
    res.end();
  };
}

function written(req: Request, batch: MessageBatch): string {
  return JSON.stringify(withUrl(req, batch));
}

/** With the URL of the results as this client reaches the server. */
function withUrl(req: Request, batch: MessageBatch): MessageBatch {
  if (batch.results_url === null) return batch;
  const origin = req.host === undefined ? "" : `${req.protocol}://${req.host}`;
  return { ...batch, results_url: `${origin}/v1/messages/batches/${batch.id}/results` };
}
