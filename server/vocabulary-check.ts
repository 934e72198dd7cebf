import type { Asked } from "../engine/engine.ts";
import { checkVocabulary } from "../openapi/vocabulary.ts";

/** Refuses token ids that the model does not have, before native code could use them as an index. */
export function checkTokens(submissions: readonly Asked[], vocabulary: number): void {
  for (const { prompt, sampling, stopTokenIds } of submissions) {
    if (prompt.kind === "tokens") checkVocabulary(prompt.tokens, "prompt", vocabulary);
    checkVocabulary(stopTokenIds, "stop_token_ids", vocabulary);
    for (const [token] of sampling.logitBias) checkVocabulary([token], "logit_bias", vocabulary);
  }
}
