import type { UpstreamFacts } from "../../engine/protocol/config.ts";
import { NO_INFILL, tooLongText } from "../../engine/protocol/prompt.ts";
import { invalidRequest } from "../../openapi/api-error.ts";
import type { CompletionRequest } from "../../openapi/generation/completions.ts";
import { checkVocabulary } from "../../openapi/generation/vocabulary.ts";
import type { EmbeddingsRequest } from "../../openapi/resources/embeddings.ts";

/** The fields of bodies that generate, which a model's bounds limit. */
type GeneratingBody = Pick<CompletionRequest, "model"> &
  Partial<Pick<CompletionRequest, "logit_bias" | "stop_token_ids">>;

/** Bounds of a loaded model, above which it refuses a request. */
export interface ModelBounds {
  /** Token ids run from 0 to one less; null where the ids are not known. */
  vocabulary: number | null;
  /** Tokens of prompt and answer together. */
  context: number;
  generates: boolean;
  /** False: a line with a suffix fails. */
  infill: boolean;
  /** Of its embeddings; null for a model that makes none. */
  embedding: { width: number | null; context: number } | null;
  /** The parts of requests that its upstream does not take; null for a model of this server. */
  upstream: UpstreamFacts | null;
}

/**
 * Throws the 400 with which a line would certainly end when it runs: for a token id outside of the vocabulary, or a prompt of
 * tokens that leaves no room for an answer. The number of tokens of a text is known only to the engine.
 */
export function checkBounds(body: GeneratingBody, bounds: ModelBounds): void {
  const { vocabulary, generates } = bounds;
  if (!generates)
    throw invalidRequest("unsupported_model", "model", `The model '${body.model}' does not generate text.`);
  checkVocabulary(Object.keys(body.logit_bias ?? {}).map(Number), "logit_bias", vocabulary);
  checkVocabulary(body.stop_token_ids ?? [], "stop_token_ids", vocabulary);
}

/** The same for the prompts of a completion. */
export function checkPromptBounds(body: CompletionRequest, { vocabulary, context, infill }: ModelBounds): void {
  if (!infill && body.suffix != null && body.suffix !== "")
    throw invalidRequest("unsupported_model", "model", NO_INFILL);
  for (const tokens of tokenPrompts(body.prompt)) {
    checkVocabulary(tokens, "prompt", vocabulary);
    if (tokens.length < context) continue;
    throw invalidRequest("context_length_exceeded", "prompt", tooLongText(context, String(tokens.length)));
  }
}

/** The same for an input of embeddings. */
export function checkEmbeddingBounds(body: EmbeddingsRequest, { vocabulary, embedding }: ModelBounds): void {
  if (embedding === null)
    throw invalidRequest("unsupported_model", "model", `The model '${body.model}' makes no embeddings.`);
  for (const tokens of tokenPrompts(body.input)) {
    checkVocabulary(tokens, "input", vocabulary);
    if (tokens.length <= embedding.context) continue;
    const message = `This model reads at most ${embedding.context} tokens of one input, and one has ${tokens.length}.`;
    throw invalidRequest("context_length_exceeded", "input", message);
  }
  if (embedding.width === null || (body.dimensions ?? 1) <= embedding.width) return;
  const message = `Invalid 'dimensions': this model's vectors have ${embedding.width} numbers.`;
  throw invalidRequest("invalid_value", "dimensions", message);
}

function tokenPrompts(prompt: CompletionRequest["prompt"]): number[][] {
  if (typeof prompt === "string") return [];
  const numbers = prompt.filter((item) => typeof item === "number");
  return numbers.length > 0 ? [numbers] : prompt.filter((item) => Array.isArray(item));
}
