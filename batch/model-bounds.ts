import { invalidRequest } from "../openapi/api-error.ts";
import type { ChatRequest } from "../openapi/chat.ts";
import type { CompletionRequest } from "../openapi/completions.ts";
import { checkVocabulary } from "../openapi/vocabulary.ts";

/** What a loaded model is known to refuse. */
export interface ModelBounds {
  /** Token ids run from 0 to one less. */
  vocabulary: number;
  /** Tokens of prompt and answer together. */
  context: number;
}

/**
 * Throws the 400 that a line would certainly end with when it runs: a token id that the model does not have, or a prompt
 * of tokens that leaves no room for an answer. How many tokens a text has, only the engine knows.
 */
export function checkBounds(body: ChatRequest | CompletionRequest, { vocabulary, context }: ModelBounds): void {
  checkVocabulary(Object.keys(body.logit_bias ?? {}).map(Number), "logit_bias", vocabulary);
  checkVocabulary(body.stop_token_ids ?? [], "stop_token_ids", vocabulary);
  if (!("prompt" in body)) return;
  for (const tokens of tokenPrompts(body.prompt)) {
    checkVocabulary(tokens, "prompt", vocabulary);
    if (tokens.length < context) continue;
    const message = `This model's maximum context length is ${context} tokens, and the prompt alone has ${tokens.length}.`;
    throw invalidRequest("context_length_exceeded", "prompt", message);
  }
}

function tokenPrompts(prompt: CompletionRequest["prompt"]): number[][] {
  if (typeof prompt === "string") return [];
  const numbers = prompt.filter((item) => typeof item === "number");
  return numbers.length > 0 ? [numbers] : prompt.filter((item) => Array.isArray(item));
}
