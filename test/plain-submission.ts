import type { Submission } from "../engine/engine.ts";
import type { Sampling } from "../engine/protocol/sampling.ts";
import { DEFAULT_SAMPLERS } from "../openapi/generation/sampler-order.ts";

/** Greedy, with every other sampler off. */
export const PLAIN_SAMPLING: Sampling = {
  order: DEFAULT_SAMPLERS,
  temperature: 0,
  dynamicTemperature: null,
  topP: 1,
  topK: 0,
  minP: 0,
  typicalP: 1,
  topNSigma: 0,
  minKeep: 0,
  xtc: null,
  mirostat: null,
  frequencyPenalty: 0,
  presencePenalty: 0,
  repetitionPenalty: 1,
  penaltyWindow: null,
  dry: null,
  logitBias: [],
  seed: null,
};

/** A greedy request without special options. */
export const PLAIN_SUBMISSION: Submission = {
  tier: "default",
  owner: "local",
  endpoint: "/v1/completions",
  prompt: { kind: "text", text: "" },
  n: 1,
  maxTokens: null,
  minTokens: 0,
  stop: [],
  stopTokenIds: [],
  ignoreEos: false,
  sampling: PLAIN_SAMPLING,
  grammar: null,
  echo: false,
  logprobs: null,
};
