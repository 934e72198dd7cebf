import type { RequestHandler } from "express";
import type { Batches } from "../../batch/api/batches.ts";
import type { KeyRing } from "../../ledger/key-ring.ts";
import { ApiError, invalidRequest } from "../../openapi/api-error.ts";
import { validate } from "../../openapi/generation/validate.ts";
import { listPage } from "../../openapi/list.ts";
import {
  createKey as createKeyBody,
  type KeyDeleted,
  type KeyList,
  keyListQuery,
  revokeKeyQuery,
  rotateKey as rotateKeyBody,
  updateKey as updateKeyBody,
} from "../../openapi/resources/keys.ts";
import type { Clock } from "../../platform/clock.ts";
import { epochSeconds } from "../../platform/clock.ts";
import { readJson } from "../http/body/json-body.ts";
import { readQuery } from "../http/query.ts";
import { sendJson } from "../http/respond.ts";
import type { Routes } from "../http/routes.ts";
import { fromStore } from "../http/store-error-response.ts";
import { BODY_BYTES } from "./input-limits.ts";
import { changesOf, keyObject, termsOf } from "./key-object.ts";

export interface KeyRouteParts {
  keys: KeyRing;
  batches: Batches;
  clock: Clock;
}

export function keyRoutes({ keys, batches, clock }: KeyRouteParts): Routes {
  return {
    "/v1/nightshift/keys": { get: listKeys(keys), post: createKey(keys, clock) },
    "/v1/nightshift/keys/:id": {
      get: retrieveKey(keys),
      patch: updateKey(keys, clock),
      delete: revokeKey(keys, batches),
    },
    "/v1/nightshift/keys/:id/rotate": { post: rotateKey(keys) },
  };
}

/** POST /v1/nightshift/keys */
function createKey(keys: KeyRing, clock: Clock): RequestHandler {
  return async (req, res) => {
    const body = validate(createKeyBody, await readJson(req, res, BODY_BYTES.key));
    checkExpiry(body.expires_at, clock);
    const { row, secret } = await fromStore(keys.create(body.owner, termsOf(body)));
    sendJson(req, res, 200, JSON.stringify(keyObject(row, secret)));
  };
}

/** GET /v1/nightshift/keys */
function listKeys(keys: KeyRing): RequestHandler {
  return async (req, res) => {
    const { limit, after = null, owner = null } = validate(keyListQuery, readQuery(req));
    const page = await fromStore(keys.list({ owner, limit, after }));
    if (page === "unknown_cursor") {
      throw invalidRequest("invalid_value", "after", `Invalid 'after': there is no key '${after?.slice(0, 64)}'.`);
    }
    const data = page.rows.map((row) => keyObject(row));
    const list: KeyList = listPage(data, page.hasMore);
    sendJson(req, res, 200, JSON.stringify(list));
  };
}

/** GET /v1/nightshift/keys/{id} */
function retrieveKey(keys: KeyRing): RequestHandler {
  return async (req, res) => {
    const id = String(req.params.id);
    sendJson(req, res, 200, JSON.stringify(keyObject(present(id, await fromStore(keys.get(id))))));
  };
}

/** PATCH /v1/nightshift/keys/{id} */
function updateKey(keys: KeyRing, clock: Clock): RequestHandler {
  return async (req, res) => {
    const id = String(req.params.id);
    const body = validate(updateKeyBody, await readJson(req, res, BODY_BYTES.key));
    checkExpiry(body.expires_at, clock);
    const row = usable(present(id, await fromStore(keys.update(id, changesOf(body)))));
    sendJson(req, res, 200, JSON.stringify(keyObject(row)));
  };
}

/** POST /v1/nightshift/keys/{id}/rotate */
function rotateKey(keys: KeyRing): RequestHandler {
  return async (req, res) => {
    const id = String(req.params.id);
    const body = validate(rotateKeyBody, await readJson(req, res, BODY_BYTES.key));
    const { row, secret } = usable(present(id, await fromStore(keys.rotate(id, body.grace_seconds ?? 0))));
    sendJson(req, res, 200, JSON.stringify(keyObject(row, secret)));
  };
}

/** DELETE /v1/nightshift/keys/{id} */
function revokeKey(keys: KeyRing, batches: Batches): RequestHandler {
  return async (req, res) => {
    const id = String(req.params.id);
    const { cancel_batches } = validate(revokeKeyQuery, readQuery(req));
    present(id, await fromStore(keys.revoke(id)));
    if (cancel_batches === "true") await fromStore(batches.cancelAllOf(id));
    const body: KeyDeleted = { id, object: "nightshift.key.deleted", deleted: true };
    sendJson(req, res, 200, JSON.stringify(body));
  };
}

function checkExpiry(expiresAt: number | null | undefined, clock: Clock): void {
  if (expiresAt == null || expiresAt > epochSeconds(clock)) return;
  throw invalidRequest("invalid_value", "expires_at", "Invalid 'expires_at': that time is over; DELETE revokes a key.");
}

/** Throws 404 for a key that was not found. */
function present<T>(id: string, found: T | null): T {
  if (found !== null) return found;
  const message = `No key found with id '${id.slice(0, 64)}'.`;
  throw new ApiError("not_found", message, { param: "id" });
}

/** Throws 409 for a revoked key. */
function usable<T>(found: T | "revoked"): T {
  if (found !== "revoked") return found;
  const message = "The key is revoked, which cannot be undone. Create another one.";
  throw new ApiError("key_revoked", message);
}
