import type { Asked } from "../../engine/engine.ts";
import type { ModelFacts } from "../../engine/protocol/config.ts";
import { tooLongText } from "../../engine/protocol/prompt.ts";
import { invalidRequest } from "../../openapi/api-error.ts";
import { checkVocabulary } from "../../openapi/generation/vocabulary.ts";

/**
 * Refuses token ids outside the vocabulary, which native code would use as an index, and prompts of tokens that fill the
 * context: the engine would refuse them too, but only after a million ids were sent to it.
 */
export function checkTokens(
  submissions: readonly Asked[],
  { vocabulary, context }: Pick<ModelFacts, "vocabulary" | "context">,
): void {
  for (const { prompt, sampling, stopTokenIds } of submissions) {
    if (prompt.kind === "tokens") {
      const { length } = prompt.tokens;
      checkVocabulary(prompt.tokens, "prompt", vocabulary);
      if (length >= context) {
        throw invalidRequest("context_length_exceeded", "prompt", tooLongText(context, String(length)));
      }
    }
    checkVocabulary(stopTokenIds, "stop_token_ids", vocabulary);
    for (const [token] of sampling.logitBias) checkVocabulary([token], "logit_bias", vocabulary);
  }
}
