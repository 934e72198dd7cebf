import type { RequestHandler } from "express";
import { validate } from "../../../openapi/generation/validate.ts";
import {
  type Conversation,
  createConversation,
  createItems,
  updateConversation,
} from "../../../openapi/stored/conversations.ts";
import { itemListQuery } from "../../../openapi/stored/items.ts";
import type { ConversationRow } from "../../../store/types/answer-rows.ts";
import { givenItems } from "../../dialects/responses/given-items.ts";
import { readJson } from "../../http/body/json-body.ts";
import { callerOf } from "../../http/context/caller.ts";
import { readQuery } from "../../http/query.ts";
import { sendJson, sendLargeJson } from "../../http/respond.ts";
import type { Routes } from "../../http/routes.ts";
import { fromStore } from "../../http/store-error-response.ts";
import type { AppOptions } from "../../options/app-options.ts";
import type { Conversations } from "../../stored/conversations.ts";
import { BODY_BYTES } from "../input-limits.ts";
import { sendItems } from "./item-list.ts";

type RouteOptions = Pick<AppOptions, "stallMs" | "bodyLimit" | "limits">;

/** References are refused by the schema. */
const NO_ITEMS = { referenced: new Map<string, never>() };

export function conversationRoutes(conversations: Conversations, options: RouteOptions): Routes {
  return {
    "/v1/conversations": { post: create(conversations, options) },
    "/v1/conversations/:id": {
      get: retrieve(conversations),
      post: update(conversations),
      delete: remove(conversations),
    },
    "/v1/conversations/:id/items": { get: items(conversations, options), post: add(conversations, options) },
    "/v1/conversations/:id/items/:item": { get: item(conversations, options), delete: removeItem(conversations) },
  };
}

/** POST /v1/conversations */
function create(conversations: Conversations, { bodyLimit, limits }: RouteOptions): RequestHandler {
  const schema = createConversation(limits);
  return async (req, res) => {
    const { metadata, items } = validate(schema, await readJson(req, res, bodyLimit));
    const row = await fromStore(conversations.create(callerOf(req), metadata ?? {}, givenItems(items, NO_ITEMS)));
    sendJson(req, res, 200, conversationText(row));
  };
}

/** GET /v1/conversations/:id */
function retrieve(conversations: Conversations): RequestHandler {
  return async (req, res) => {
    const row = await fromStore(conversations.get(callerOf(req).owner, String(req.params.id)));
    sendJson(req, res, 200, conversationText(row));
  };
}

/** POST /v1/conversations/:id */
function update(conversations: Conversations): RequestHandler {
  return async (req, res) => {
    const { metadata } = validate(updateConversation, await readJson(req, res, BODY_BYTES.metadata));
    const { owner } = callerOf(req);
    const row = await fromStore(conversations.update(owner, String(req.params.id), metadata ?? {}));
    sendJson(req, res, 200, conversationText(row));
  };
}

/** DELETE /v1/conversations/:id */
function remove(conversations: Conversations): RequestHandler {
  return async (req, res) => {
    const id = String(req.params.id);
    await fromStore(conversations.remove(callerOf(req).owner, id));
    sendJson(req, res, 200, JSON.stringify({ id, object: "conversation.deleted", deleted: true }));
  };
}

/** POST /v1/conversations/:id/items */
function add(conversations: Conversations, { bodyLimit, limits, stallMs }: RouteOptions): RequestHandler {
  const schema = createItems(limits);
  return async (req, res) => {
    const { items } = validate(schema, await readJson(req, res, bodyLimit));
    const given = givenItems(items, NO_ITEMS);
    const rows = await fromStore(conversations.append(callerOf(req), String(req.params.id), given));
    sendItems(req, res, { rows, hasMore: false }, stallMs);
  };
}

/** GET /v1/conversations/:id/items */
function items(conversations: Conversations, { stallMs }: RouteOptions): RequestHandler {
  return async (req, res) => {
    const { limit, after = null, order } = validate(itemListQuery, readQuery(req));
    const page = { limit, after, order };
    sendItems(
      req,
      res,
      await fromStore(conversations.items(callerOf(req).owner, String(req.params.id), page)),
      stallMs,
    );
  };
}

/** GET /v1/conversations/:id/items/:item */
function item(conversations: Conversations, { stallMs }: RouteOptions): RequestHandler {
  return async (req, res) => {
    const { id, item: itemId } = req.params;
    const text = await fromStore(conversations.item(callerOf(req).owner, String(id), String(itemId)));
    sendLargeJson(req, res, text, stallMs);
  };
}

/** DELETE /v1/conversations/:id/items/:item */
function removeItem(conversations: Conversations): RequestHandler {
  return async (req, res) => {
    const { id, item: itemId } = req.params;
    const row = await fromStore(conversations.removeItem(callerOf(req).owner, String(id), String(itemId)));
    sendJson(req, res, 200, conversationText(row));
  };
}

function conversationText({ id, createdAt, metadata }: ConversationRow): string {
  const object: Conversation = {
    id,
    object: "conversation",
    created_at: createdAt,
    metadata: JSON.parse(metadata),
  };
  return JSON.stringify(object);
}
