import { USUAL_ANSWER } from "../../batch/lines/answer-length.ts";
import type { OnlineTier } from "../../engine/protocol/request.ts";
import type { Prices } from "../../ledger/prices.ts";
import type { Admission } from "../admission/admission.ts";
import type { ModelLoads } from "../admission/model-load.ts";
import type { ModelSet } from "../models/model-set.ts";
import type { LearnedCosts } from "./learned-costs.ts";
import type { RequestTraits } from "./request-traits.ts";
import type { RouteModel } from "./router.ts";

export interface ModelStateDeps {
  models: Pick<ModelSet, "get">;
  loads: ModelLoads;
  admission: Pick<Admission, "predictedWaitMs">;
  prices: Pick<Prices, "costNano">;
  costs: Pick<LearnedCosts, "expectedNano">;
}

/** The state of a model for the choice among several; undefined where it is not served. */
export function modelState({ models, loads, admission, prices, costs }: ModelStateDeps) {
  return (name: string, tier: OnlineTier, traits: RequestTraits): RouteModel | undefined => {
    const model = models.get(name);
    if (model === undefined) return undefined;
    const { engine, id } = model;
    const estimate = () => {
      const { promptTokens, maxTokens } = traits;
      const usual = Math.ceil(loads.of(id).answerTokens) || USUAL_ANSWER;
      const outputTokens = Math.min(usual, maxTokens ?? usual);
      return prices.costNano(id, tier, { inputTokens: promptTokens, cachedTokens: 0, outputTokens });
    };
    return {
      ready: engine.state.name === "ready",
      predictedWaitMs: admission.predictedWaitMs(model, tier),
      objectiveMs: engine.objectives?.ttftMs ?? null,
      costNano: costs.expectedNano(id, tier, traits) ?? estimate(),
    };
  };
}
