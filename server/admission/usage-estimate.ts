import { USUAL_ANSWER } from "../../batch/lines/answer-length.ts";
import type { Asked } from "../../engine/engine.ts";
import type { EmbeddingInput } from "../../engine/protocol/embedding.ts";
import type { OnlineTier } from "../../engine/protocol/request.ts";
import type { ReadyModel } from "./ready-model.ts";
import { inputSize, promptSize } from "./token-estimate.ts";

/** The tokens of a request as they count against limits and budgets, estimated before it runs. */
export interface UsageEstimate {
  model: string;
  tier: OnlineTier;
  promptTokens: number;
  answerTokens: number;
  /** Upper bounds. */
  mostPromptTokens: number;
  mostAnswerTokens: number;
}

export function generationEstimate(prompts: readonly Asked[], ready: ReadyModel, tier: OnlineTier): UsageEstimate {
  const { context } = ready.facts;
  const usualAnswer = Math.ceil(ready.load.answerTokens) || USUAL_ANSWER;
  const estimate = noTokens(ready, tier);
  for (const { prompt, n, maxTokens } of prompts) {
    const { usual, most } = promptSize(prompt, context);
    estimate.promptTokens += usual;
    estimate.mostPromptTokens += most;
    estimate.answerTokens += n * Math.min(maxTokens ?? usualAnswer, context);
    estimate.mostAnswerTokens += n * Math.min(maxTokens ?? context, context);
  }
  return estimate;
}

export function embeddingEstimate(
  inputs: readonly EmbeddingInput[],
  ready: ReadyModel,
  tier: OnlineTier,
): UsageEstimate {
  const estimate = noTokens(ready, tier);
  for (const input of inputs) {
    const { usual, most } = inputSize(input);
    estimate.promptTokens += usual;
    estimate.mostPromptTokens += most;
  }
  return estimate;
}

/** The estimate of a request that runs nothing: it counts as a request alone. */
export function noTokens({ model }: ReadyModel, tier: OnlineTier): UsageEstimate {
  const none = { promptTokens: 0, answerTokens: 0, mostPromptTokens: 0, mostAnswerTokens: 0 };
  return { model: model.id, tier, ...none };
}
