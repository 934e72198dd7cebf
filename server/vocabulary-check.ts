import { invalidRequest } from "../openapi/api-error.ts";
import type { Unowned } from "./submission.ts";

/** Refuses token ids that the model does not have, before native code could use them as an index. */
export function checkVocabulary(submissions: readonly Unowned[], vocabulary: number): void {
  for (const { prompt, sampling, stopTokenIds } of submissions) {
    if (prompt.kind === "tokens") check(prompt.tokens, "prompt", vocabulary);
    check(stopTokenIds, "stop_token_ids", vocabulary);
    for (const [token] of sampling.logitBias) check([token], "logit_bias", vocabulary);
  }
}

function check(tokens: readonly number[], param: string, vocabulary: number): void {
  const bad = tokens.find((token) => token >= vocabulary);
  if (bad === undefined) return;
  const message = `Invalid '${param}': token ${bad} is not one of the model's ${vocabulary}.`;
  throw invalidRequest("invalid_value", param, message);
}
