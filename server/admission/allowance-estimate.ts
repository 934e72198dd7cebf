import { USUAL_ANSWER } from "../../batch/lines/answer-length.ts";
import type { Asked } from "../../engine/engine.ts";
import type { EmbeddingInput } from "../../engine/protocol/embedding.ts";
import type { OnlineTier } from "../../engine/protocol/request.ts";
import type { Place } from "./admission.ts";
import { inputSize, promptSize } from "./token-estimate.ts";

/** What a request will take of its key's limits and budgets, as far as that is known before it runs. */
export interface AllowanceAsk {
  model: string;
  tier: OnlineTier;
  promptTokens: number;
  answerTokens: number;
  /** What it can't exceed. */
  mostPromptTokens: number;
  mostAnswerTokens: number;
}

export function generationAsk(submissions: readonly Asked[], place: Place, tier: OnlineTier): AllowanceAsk {
  const { context } = place.facts;
  const usualAnswer = Math.ceil(place.load.answerTokens) || USUAL_ANSWER;
  const ask = empty(place, tier);
  for (const { prompt, n, maxTokens } of submissions) {
    const { usual, most } = promptSize(prompt, context);
    ask.promptTokens += usual;
    ask.mostPromptTokens += most;
    ask.answerTokens += n * Math.min(maxTokens ?? usualAnswer, context);
    ask.mostAnswerTokens += n * Math.min(maxTokens ?? context, context);
  }
  return ask;
}

export function embeddingAsk(inputs: readonly EmbeddingInput[], place: Place, tier: OnlineTier): AllowanceAsk {
  const ask = empty(place, tier);
  for (const input of inputs) {
    const { usual, most } = inputSize(input);
    ask.promptTokens += usual;
    ask.mostPromptTokens += most;
  }
  return ask;
}

/** Of a call that only has texts tokenized. */
export function tokenAsk(place: Place): AllowanceAsk {
  return empty(place, "default");
}

function empty({ model }: Place, tier: OnlineTier): AllowanceAsk {
  const none = { promptTokens: 0, answerTokens: 0, mostPromptTokens: 0, mostAnswerTokens: 0 };
  return { model: model.id, tier, ...none };
}
