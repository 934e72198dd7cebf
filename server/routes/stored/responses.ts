import type { RequestHandler } from "express";
import { invalidRequest } from "../../../openapi/api-error.ts";
import { validate } from "../../../openapi/generation/validate.ts";
import { itemListQuery, responseQuery } from "../../../openapi/stored/items.ts";
import { callerOf } from "../../http/context/caller.ts";
import { readQuery } from "../../http/query.ts";
import { sendJson, sendValue } from "../../http/respond.ts";
import type { Routes } from "../../http/routes.ts";
import { fromStore } from "../../http/store-error-response.ts";
import type { BackgroundResponses } from "../../stored/background-responses.ts";
import type { StoredResponses } from "../../stored/responses.ts";
import { sendItems } from "./item-list.ts";

export function responseRoutes(responses: StoredResponses, background: BackgroundResponses, stallMs: number): Routes {
  return {
    "/v1/responses/:id": { get: retrieve(responses, stallMs), delete: remove(background) },
    "/v1/responses/:id/cancel": { post: cancel(background, stallMs) },
    "/v1/responses/:id/input_items": { get: inputItems(responses, stallMs) },
  };
}

/** GET /v1/responses/:id */
function retrieve(responses: StoredResponses, stallMs: number): RequestHandler {
  return async (req, res) => {
    const { stream } = validate(responseQuery, readQuery(req));
    const response = await fromStore(responses.get(callerOf(req).owner, String(req.params.id)));
    if (stream === "true") {
      const message = "Invalid 'stream': a stored response can't be streamed again; omit it or send false.";
      throw invalidRequest("invalid_value", "stream", message);
    }
    await sendValue(req, res, response, stallMs);
  };
}

/** DELETE /v1/responses/:id */
function remove(responses: BackgroundResponses): RequestHandler {
  return async (req, res) => {
    const id = String(req.params.id);
    await fromStore(responses.remove(callerOf(req).owner, id));
    sendJson(req, res, 200, JSON.stringify({ id, object: "response", deleted: true }));
  };
}

/** POST /v1/responses/:id/cancel: no body is read. */
function cancel(responses: BackgroundResponses, stallMs: number): RequestHandler {
  return async (req, res) => {
    const response = await fromStore(responses.cancel(callerOf(req).owner, String(req.params.id)));
    await sendValue(req, res, response, stallMs);
  };
}

/** GET /v1/responses/:id/input_items */
function inputItems(responses: StoredResponses, stallMs: number): RequestHandler {
  return async (req, res) => {
    const { limit, after = null, order } = validate(itemListQuery, readQuery(req));
    const page = { limit, after, order };
    const items = await fromStore(responses.inputItems(callerOf(req).owner, String(req.params.id), page));
    sendItems(req, res, items, stallMs);
  };
}
