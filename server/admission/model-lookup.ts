import { type Caller, mayUseModel } from "../../ledger/key.ts";
import { ApiError, invalidRequest } from "../../openapi/api-error.ts";
import type { ModelSet, ServedModel } from "../models/model-set.ts";

/** Characters of an unknown name that its error repeats. */
const MAX_NAME = 256;

/**
 * The model of this name; null stands for the only model that the caller's key may use, and is a 400 where there are
 * several. Throws 404 for an unknown model, and the same for a model that the key may not use.
 */
export function findModel(
  models: Pick<ModelSet, "get" | "list">,
  requested: string | null,
  caller: Caller,
): ServedModel {
  const name = requested ?? onlyModel(models, caller);
  const model = models.get(name);
  if (model !== undefined && mayUseModel(caller, model.id)) return model;
  const shown = name.length > MAX_NAME ? `${name.slice(0, MAX_NAME)}…` : name;
  const message = `The model '${shown}' does not exist or you do not have access to it. GET /v1/models lists what you may use.`;
  throw new ApiError("model_not_found", message, { param: "model" });
}

function onlyModel(models: Pick<ModelSet, "list">, caller: Caller): string {
  const [first, ...others] = models.list().filter(({ id }) => mayUseModel(caller, id));
  if (first !== undefined && others.length === 0) return first.id;
  throw invalidRequest("missing_required_parameter", "model", "Missing required parameter: 'model'.");
}
