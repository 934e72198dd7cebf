import type { RequestHandler } from "express";
import { z } from "zod";
import { validate } from "../../../openapi/generation/validate.ts";
import { parseJsonInSlices } from "../../../openapi/json/json-text.ts";
import { listPage } from "../../../openapi/list.ts";
import { completionListQuery, messageListQuery, updateCompletion } from "../../../openapi/stored/completions.ts";
import { readJson } from "../../http/body/json-body.ts";
import { callerOf } from "../../http/context/caller.ts";
import { readQuery } from "../../http/query.ts";
import { sendJson, sendValue } from "../../http/respond.ts";
import type { Routes } from "../../http/routes.ts";
import { fromStore } from "../../http/store-error-response.ts";
import type { StoredCompletions } from "../../stored/completions.ts";
import { unknownCursor } from "../../stored/conversations.ts";
import { BODY_BYTES } from "../input-limits.ts";
import { readMetadataQuery } from "./metadata-query.ts";

export function completionRoutes(completions: StoredCompletions, stallMs: number): Routes {
  return {
    "/v1/chat/completions": { get: list(completions, stallMs) },
    "/v1/chat/completions/:id": {
      get: retrieve(completions, stallMs),
      post: update(completions, stallMs),
      delete: remove(completions),
    },
    "/v1/chat/completions/:id/messages": { get: messages(completions, stallMs) },
  };
}

/** GET /v1/chat/completions */
function list(completions: StoredCompletions, stallMs: number): RequestHandler {
  return async (req, res) => {
    const query = validate(completionListQuery, readMetadataQuery(req));
    const { model = null, metadata = {}, after = null, limit, order } = query;
    const { owner } = callerOf(req);
    const filter = { owner, model, metadata: Object.entries(metadata), after, limit, order };
    const page = await fromStore(completions.list(filter));
    await sendValue(req, res, listPage(page.completions, page.hasMore), stallMs);
  };
}

/** GET /v1/chat/completions/:id */
function retrieve(completions: StoredCompletions, stallMs: number): RequestHandler {
  return async (req, res) => {
    const completion = await fromStore(completions.get(callerOf(req).owner, String(req.params.id)));
    await sendValue(req, res, completion, stallMs);
  };
}

/** POST /v1/chat/completions/:id */
function update(completions: StoredCompletions, stallMs: number): RequestHandler {
  return async (req, res) => {
    const { metadata } = validate(updateCompletion, await readJson(req, res, BODY_BYTES.metadata));
    const { owner } = callerOf(req);
    const updated = await fromStore(completions.update(owner, String(req.params.id), metadata ?? {}));
    await sendValue(req, res, updated, stallMs);
  };
}

/** DELETE /v1/chat/completions/:id */
function remove(completions: StoredCompletions): RequestHandler {
  return async (req, res) => {
    const id = String(req.params.id);
    await fromStore(completions.remove(callerOf(req).owner, id));
    sendJson(req, res, 200, JSON.stringify({ object: "chat.completion.deleted", id, deleted: true }));
  };
}

const message = z.looseObject({
  role: z.string(),
  content: z.union([z.string(), z.array(z.looseObject({ type: z.string(), text: z.string().optional() }))]).nullish(),
  name: z.string().nullish(),
});

/** GET /v1/chat/completions/:id/messages */
function messages(completions: StoredCompletions, stallMs: number): RequestHandler {
  return async (req, res) => {
    const { limit, after, order } = validate(messageListQuery, readQuery(req));
    const id = String(req.params.id);
    const text = await fromStore(completions.messages(callerOf(req).owner, id));
    const all: unknown[] = z.array(z.unknown()).parse(await parseJsonInSlices(Buffer.from(text)));
    const places = [...all.keys()];
    if (order === "desc") places.reverse();
    const cursor = after === undefined ? -1 : places.findIndex((place) => `${id}-${place}` === after);
    if (after !== undefined && cursor === -1) throw unknownCursor();
    const page = places.slice(cursor + 1, cursor + 1 + limit);
    const data = page.map((place) => storedMessage(`${id}-${place}`, message.parse(all[place])));
    await sendValue(req, res, listPage(data, cursor + 1 + limit < places.length), stallMs);
  };
}

/** A message of the request: parts beside their joined text. */
function storedMessage(id: string, { content, name, ...rest }: z.infer<typeof message>) {
  const parts = Array.isArray(content) ? content : null;
  const text = parts === null ? content : parts.flatMap((part) => part.text ?? []).join("\n");
  return { ...rest, id, content: typeof text === "string" ? text : null, name: name ?? null, content_parts: parts };
}
