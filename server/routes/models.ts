import type { RequestHandler } from "express";
import { mayUseModel } from "../../ledger/key.ts";
import type { Model, ModelList } from "../../openapi/resources/models.ts";
import type { Admission } from "../admission/admission.ts";
import { callerOf } from "../http/context/caller.ts";
import { sendJson } from "../http/respond.ts";
import type { ModelSet, ServedModel } from "../models/model-set.ts";

export function listModels(models: ModelSet): RequestHandler {
  return (req, res) => {
    const caller = callerOf(req);
    const allowed = ({ id }: ServedModel) => mayUseModel(caller, id);
    const list: ModelList = { object: "list", data: models.list().filter(allowed).map(describe) };
    sendJson(req, res, 200, JSON.stringify(list));
  };
}

/** 404 model_not_found for any name that is not served, whatever it looks like. */
export function retrieveModel(admission: Admission): RequestHandler {
  return (req, res) => {
    // Names may have slashes, plain or as %2F.
    const { model } = req.params;
    const name = Array.isArray(model) ? model.join("/") : String(model);
    sendJson(req, res, 200, JSON.stringify(describe(admission.find(name, callerOf(req)))));
  };
}

function describe({ id, created, engine: { state, facts } }: ServedModel): Model {
  const nightshift = { state: state.name, context: facts?.context ?? null, adapters: facts?.adapters ?? null };
  return { id, object: "model", created, owned_by: "nightshift", nightshift };
}
