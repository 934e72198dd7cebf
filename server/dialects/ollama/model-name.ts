import type { Caller } from "../../../ledger/key.ts";
import { ApiError } from "../../../openapi/api-error.ts";
import { findModel } from "../../admission/model-lookup.ts";
import type { ModelSet, ServedModel } from "../../models/model-set.ts";
import type { Router } from "../../routing/router.ts";

const TAG = ":latest";

/** The name of a model in lists: clients expect a tag. */
export function taggedName(id: string): string {
  return id.includes(":") ? id : id + TAG;
}

/**
 * The model that a client names, with or without its tag. Throws 404 for an unknown one, and for one that the caller's key
 * may not use.
 */
export async function namedModel(models: ModelSet, name: string, caller: Caller): Promise<ServedModel> {
  return allowed(models, await knownName(models, name), name, caller);
}

/** The own name or the alias that a client means, with or without its tag; an unknown name is returned as it is. */
async function knownName(models: ModelSet, name: string): Promise<string> {
  for (const spelling of [name, otherSpelling(name)]) {
    await models.search(spelling);
    if (models.knows(spelling)) return spelling;
  }
  return name;
}

/** The name by which a request is routed: that of a route, else the own name of the model. Throws as `namedModel`. */
export async function routedName(
  { models, router }: { models: ModelSet; router: Pick<Router, "reaches"> },
  name: string,
  caller: Caller,
): Promise<string> {
  const known = await knownName(models, name);
  return router.reaches(known, caller) ? known : allowed(models, known, name, caller).id;
}

function otherSpelling(name: string): string {
  return name.endsWith(TAG) ? name.slice(0, -TAG.length) : name + TAG;
}

function allowed(models: ModelSet, spelling: string, name: string, caller: Caller): ServedModel {
  try {
    return findModel(models, spelling, caller);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    throw new ApiError("model_not_found", `model '${name}' not found`, { param: "model" });
  }
}
