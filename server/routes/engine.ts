import type { RequestHandler } from "express";
import type { MachinePrice } from "../../ledger/prices.ts";
import type { EngineList, EngineReport } from "../../openapi/resources/engine.ts";
import { sendJson } from "../http/respond.ts";
import type { Routes } from "../http/routes.ts";
import type { ModelSet, ServedModel } from "../models/model-set.ts";
import type { AppOptions } from "../options/app-options.ts";
import { engineStatus } from "./engine-object.ts";

export interface EngineRouteParts {
  models: ModelSet;
  options: Pick<AppOptions, "machinePrice">;
}

export function engineRoutes({ models, options }: EngineRouteParts): Routes {
  return { "/v1/nightshift/engine": { get: engines(models, options.machinePrice) } };
}

/** GET /v1/nightshift/engine */
function engines(models: ModelSet, machine: MachinePrice): RequestHandler {
  const report = async ({ id, engine }: ServedModel): Promise<EngineReport> => {
    const status = await engine.inspect();
    return {
      object: "nightshift.engine",
      model: id,
      state: engine.state.name,
      status: status === null ? null : engineStatus(status, machine),
    };
  };
  return async (req, res) => {
    const list: EngineList = { object: "list", data: await Promise.all(models.list().map(report)) };
    sendJson(req, res, 200, JSON.stringify(list));
  };
}
