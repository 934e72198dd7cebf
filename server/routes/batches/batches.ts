import type { RequestHandler } from "express";
import type { Batches } from "../../../batch/api/batches.ts";
import { validate } from "../../../openapi/generation/validate.ts";
import { listPage } from "../../../openapi/list.ts";
import { type BatchList, batchListQuery } from "../../../openapi/resources/batches.ts";
import { checkTier } from "../../auth/access-control.ts";
import { readJson } from "../../http/body/json-body.ts";
import { callerOf } from "../../http/context/caller.ts";
import { readQuery } from "../../http/query.ts";
import { sendJson } from "../../http/respond.ts";
import type { Routes } from "../../http/routes.ts";
import { fromStore } from "../../http/store-error-response.ts";
import { BODY_BYTES } from "../input-limits.ts";

export interface BatchRouteParts {
  batches: Batches;
}

export function batchRoutes({ batches }: BatchRouteParts): Routes {
  return {
    "/v1/batches": { get: listBatches(batches), post: createBatch(batches) },
    "/v1/batches/:id": { get: retrieveBatch(batches) },
    "/v1/batches/:id/cancel": { post: cancelBatch(batches) },
  };
}

/** POST /v1/batches */
function createBatch(batches: Batches): RequestHandler {
  return async (req, res) => {
    const body = await readJson(req, res, BODY_BYTES.batch);
    const key = req.headers["idempotency-key"];
    const caller = callerOf(req);
    checkTier(caller, "batch");
    const batch = await fromStore(batches.create(caller, body, typeof key === "string" ? key : null));
    sendJson(req, res, 200, JSON.stringify(batch));
  };
}

/** GET /v1/batches */
function listBatches(batches: Batches): RequestHandler {
  return async (req, res) => {
    const { limit, after = null } = validate(batchListQuery, readQuery(req));
    const { data, hasMore } = await fromStore(batches.list(callerOf(req).owner, limit, after));
    const list: BatchList = listPage(data, hasMore);
    sendJson(req, res, 200, JSON.stringify(list));
  };
}

/** GET /v1/batches/{id} */
function retrieveBatch(batches: Batches): RequestHandler {
  return async (req, res) => {
    const batch = await fromStore(batches.get(callerOf(req).owner, String(req.params.id)));
    sendJson(req, res, 200, JSON.stringify(batch));
  };
}

/** POST /v1/batches/{id}/cancel */
function cancelBatch(batches: Batches): RequestHandler {
  return async (req, res) => {
    const batch = await fromStore(batches.cancel(callerOf(req).owner, String(req.params.id)));
    sendJson(req, res, 200, JSON.stringify(batch));
  };
}
