import type { Submission } from "../engine/engine.ts";

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
  sampling: {
    temperature: 0,
    topP: 1,
    topK: 0,
    minP: 0,
    frequencyPenalty: 0,
    presencePenalty: 0,
    repetitionPenalty: 1,
    logitBias: [],
    seed: null,
  },
  grammar: null,
  echo: false,
  logprobs: null,
};
