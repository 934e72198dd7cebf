import { USUAL_ANSWER } from "../../batch/lines/answer-length.ts";
import type { OnlineTier } from "../../engine/protocol/request.ts";
import type { Prices } from "../../ledger/prices.ts";
import type { Admission } from "../admission/admission.ts";
import type { ModelLoads } from "../admission/model-load.ts";
import type { ModelSet } from "../models/model-set.ts";
import type { RequestTraits } from "./request-traits.ts";
import type { RouteModel } from "./router.ts";

export interface ModelStateDeps {
  models: Pick<ModelSet, "get">;
  loads: ModelLoads;
  admission: Pick<Admission, "predictedWaitMs">;
  prices: Pick<Prices, "costNano">;
}

/** The state of a model for the choice among several; undefined where it is not served. */
export function modelState({ models, loads, admission, prices }: ModelStateDeps) {
  return (name: string, tier: OnlineTier, { promptTokens, maxTokens }: RequestTraits): RouteModel | undefined => {
    const model = models.get(name);
    if (model === undefined) return undefined;
    const { engine, id } = model;
    // The recent answers of each model are of its own length: a terse model is cheaper than its price says.
    const usual = Math.ceil(loads.of(id).answerTokens) || USUAL_ANSWER;
    const outputTokens = Math.min(usual, maxTokens ?? usual);
    return {
      ready: engine.state.name === "ready",
      predictedWaitMs: admission.predictedWaitMs(model, tier),
      objectiveMs: engine.objectives?.ttftMs ?? null,
      costNano: prices.costNano(id, tier, { inputTokens: promptTokens, cachedTokens: 0, outputTokens }),
    };
  };
}
