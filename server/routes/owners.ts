import type { RequestHandler } from "express";
import { hasScope } from "../../ledger/key.ts";
import type { OwnerBudgets } from "../../ledger/owner-budgets.ts";
import { ApiError } from "../../openapi/api-error.ts";
import { type Owner, updateOwner as updateOwnerBody } from "../../openapi/owners.ts";
import { validate } from "../../openapi/validate.ts";
import type { Store } from "../../store/store.ts";
import { dayOf } from "../../store/utc-day.ts";
import type { Clock } from "../dependencies.ts";
import { BODY_BYTES } from "../input-limits.ts";
import { readJson } from "../json-body.ts";
import { budgetChanges, budgetObject } from "../key-object.ts";
import { callerOf } from "../middleware/authentication.ts";
import { sendJson } from "../respond.ts";
import { fromStore } from "../store-failure.ts";

export interface OwnerRouteDeps {
  owners: OwnerBudgets;
  store: Pick<Store, "budgets">;
  clock: Clock;
}

const NAME = /^[A-Za-z0-9][A-Za-z0-9._@:-]{0,63}$/;
const NANO = 1e9;

/** GET /v1/nightshift/owners/{owner} */
export function retrieveOwner(deps: OwnerRouteDeps): RequestHandler {
  return async (req, res) => {
    const owner = nameOf(req.params.owner);
    const caller = callerOf(req);
    if (caller.owner !== owner && !hasScope(caller, "admin")) throw noSuchOwner(owner);
    sendJson(req, res, 200, JSON.stringify(await fromStore(ownerObject(deps, owner))));
  };
}

/** PATCH /v1/nightshift/owners/{owner} */
export function updateOwner(deps: OwnerRouteDeps): RequestHandler {
  return async (req, res) => {
    const owner = nameOf(req.params.owner);
    const { budget } = validate(updateOwnerBody, await readJson(req, res, BODY_BYTES.owner));
    await fromStore(deps.owners.change(owner, budgetChanges(budget)));
    sendJson(req, res, 200, JSON.stringify(await fromStore(ownerObject(deps, owner))));
  };
}

async function ownerObject({ owners, store, clock }: OwnerRouteDeps, owner: string): Promise<Owner> {
  const spent = await store.budgets.spent({ owner, day: dayOf(clock.epochSeconds() * 1000) });
  return {
    id: owner,
    object: "nightshift.owner",
    budget: budgetObject(owners.get(owner)),
    spending: {
      day_usd: spent.dayNano / NANO,
      month_usd: spent.monthNano / NANO,
      held_usd: spent.heldNano / NANO,
    },
  };
}

/** Throws 404 for what no key's owner can be. */
function nameOf(given: unknown): string {
  const name = String(given);
  if (NAME.test(name)) return name;
  throw noSuchOwner(name);
}

function noSuchOwner(name: string): ApiError {
  const message = `No owner found with id '${name.slice(0, 64)}'.`;
  return new ApiError({ status: 404, type: "invalid_request_error", code: null, param: "owner", message });
}
