import type { RequestHandler } from "express";
import { validate } from "../../../openapi/generation/validate.ts";
import { itemListQuery, responseQuery } from "../../../openapi/stored/items.ts";
import { type SentEventsOptions, sendEvents } from "../../generation/output/sent-events.ts";
import { disconnectSignal } from "../../http/connection/client-disconnect.ts";
import { callerOf } from "../../http/context/caller.ts";
import { readQuery } from "../../http/query.ts";
import { sendJson, sendValue } from "../../http/respond.ts";
import type { Routes } from "../../http/routes.ts";
import { fromStore } from "../../http/store-error-response.ts";
import type { BackgroundResponses } from "../../stored/background-responses.ts";
import type { ResponseStreams } from "../../stored/response-streams.ts";
import type { StoredResponses } from "../../stored/responses.ts";
import { sendItems } from "./item-list.ts";

export interface ResponseRouteParts {
  responses: StoredResponses;
  streams: ResponseStreams;
  background: BackgroundResponses;
  options: SentEventsOptions;
}

export function responseRoutes(parts: ResponseRouteParts): Routes {
  const { responses, background, options } = parts;
  const { stallMs } = options;
  return {
    "/v1/responses/:id": { get: retrieve(parts), delete: remove(background) },
    "/v1/responses/:id/cancel": { post: cancel(background, stallMs) },
    "/v1/responses/:id/input_items": { get: inputItems(responses, stallMs) },
  };
}

/** GET /v1/responses/:id */
function retrieve({ responses, streams, options }: ResponseRouteParts): RequestHandler {
  return async (req, res) => {
    const { stream, starting_after: after = -1 } = validate(responseQuery, readQuery(req));
    const { owner } = callerOf(req);
    const id = String(req.params.id);
    if (stream !== "true" || req.method === "HEAD") {
      return sendValue(req, res, await fromStore(responses.get(owner, id)), options.stallMs);
    }
    const events = streams.events({ owner, id, after, signal: disconnectSignal(res) });
    await fromStore(sendEvents(req, res, events, options));
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
