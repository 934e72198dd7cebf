import type { RequestHandler } from "express";
import type { OwnerErasures } from "../../batch/api/owner-erasure.ts";
import { ENVIRONMENT_KEY, hasScope } from "../../ledger/key.ts";
import type { OwnerBudgets } from "../../ledger/owner-budgets.ts";
import { ApiError } from "../../openapi/api-error.ts";
import { validate } from "../../openapi/generation/validate.ts";
import { type Owner, updateOwner as updateOwnerBody } from "../../openapi/resources/owners.ts";
import type { Clock } from "../../platform/clock.ts";
import { epochSeconds } from "../../platform/clock.ts";
import { dayOf } from "../../platform/utc-day.ts";
import type { Store } from "../../store/store.ts";
import { readJson } from "../http/body/json-body.ts";
import { callerOf } from "../http/context/caller.ts";
import { sendJson } from "../http/respond.ts";
import type { Routes } from "../http/routes.ts";
import { fromStore } from "../http/store-error-response.ts";
import { BODY_BYTES } from "./input-limits.ts";
import { budgetChanges, budgetObject } from "./key-object.ts";

export interface OwnerRouteParts {
  owners: OwnerBudgets;
  erasures: Pick<OwnerErasures, "request" | "get">;
  store: Pick<Store, "budgets">;
  clock: Clock;
}

export function ownerRoutes(parts: OwnerRouteParts): Routes {
  return {
    "/v1/nightshift/owners/:owner": {
      get: retrieveOwner(parts),
      patch: updateOwner(parts),
      delete: eraseOwner(parts),
    },
  };
}

const NAME = /^[A-Za-z0-9][A-Za-z0-9._@:-]{0,63}$/;
const NANO = 1e9;

/** GET /v1/nightshift/owners/{owner} */
function retrieveOwner(parts: OwnerRouteParts): RequestHandler {
  return async (req, res) => {
    const owner = nameOf(req.params.owner);
    const caller = callerOf(req);
    if (caller.owner !== owner && !hasScope(caller, "admin")) throw noSuchOwner(owner);
    sendJson(req, res, 200, JSON.stringify(await fromStore(ownerObject(parts, owner))));
  };
}

/** PATCH /v1/nightshift/owners/{owner} */
function updateOwner(parts: OwnerRouteParts): RequestHandler {
  return async (req, res) => {
    const owner = nameOf(req.params.owner);
    const { budget } = validate(updateOwnerBody, await readJson(req, res, BODY_BYTES.owner));
    await fromStore(parts.owners.change(owner, budgetChanges(budget)));
    sendJson(req, res, 200, JSON.stringify(await fromStore(ownerObject(parts, owner))));
  };
}

/** DELETE /v1/nightshift/owners/{owner} */
function eraseOwner(parts: OwnerRouteParts): RequestHandler {
  return async (req, res) => {
    const owner = nameOf(req.params.owner);
    const { key } = callerOf(req);
    if (key !== null && key !== ENVIRONMENT_KEY && key.owner === owner) throw ownOwner(owner);
    await fromStore(parts.erasures.request(owner));
    sendJson(req, res, 200, JSON.stringify(await fromStore(ownerObject(parts, owner))));
  };
}

async function ownerObject({ owners, erasures, store, clock }: OwnerRouteParts, owner: string): Promise<Owner> {
  const [spent, erasure] = await Promise.all([
    store.budgets.spent({ owner, day: dayOf(epochSeconds(clock) * 1000) }),
    erasures.get(owner),
  ]);
  return {
    id: owner,
    object: "nightshift.owner",
    budget: budgetObject(owners.get(owner)),
    spending: {
      day_usd: spent.dayNano / NANO,
      month_usd: spent.monthNano / NANO,
      held_usd: spent.heldNano / NANO,
    },
    erasure: erasure === null ? null : { requested_at: erasure.requestedAt },
  };
}

/** Throws 404 for a name that no owner can have. */
function nameOf(given: unknown): string {
  const name = String(given);
  if (NAME.test(name)) return name;
  throw noSuchOwner(name);
}

/** The erasure would revoke the key that requests it, and its end could not be observed. */
function ownOwner(name: string): ApiError {
  const message = `The key of this request belongs to '${name}'. Use an administrator's key of another owner.`;
  return new ApiError("own_owner", message, { param: "owner" });
}

function noSuchOwner(name: string): ApiError {
  const message = `No owner found with id '${name.slice(0, 64)}'.`;
  return new ApiError("not_found", message, { param: "owner" });
}
