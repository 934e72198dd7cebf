import type { ModelFacts } from "../../engine/protocol/config.ts";
import type { EmbeddingInput } from "../../engine/protocol/embedding.ts";
import { NO_INFILL } from "../../engine/protocol/prompt.ts";
import { invalidRequest } from "../../openapi/api-error.ts";
import { checkVocabulary } from "../../openapi/generation/vocabulary.ts";

/** The task that an endpoint needs its model for. */
export type ModelTask = "generate" | "embed" | "rank";

/** Throws 400 for a model that is not made for the task, and names the endpoint that it is made for. */
export function requireTask(facts: Pick<ModelFacts, "model" | "generates" | "embedding">, task: ModelTask): void {
  const reason = whyNot(facts, task);
  if (reason !== null) throw invalidRequest("unsupported_model", "model", `The model '${facts.model}' ${reason}`);
}

function whyNot({ generates, embedding }: Pick<ModelFacts, "generates" | "embedding">, task: ModelTask): string | null {
  const ranks = embedding?.pooling === "rank";
  switch (task) {
    case "generate":
      if (generates) return null;
      return ranks ? "ranks documents: use it with /v1/rerank." : "is an embedding model: use it with /v1/embeddings.";
    case "embed":
      if (ranks) return "ranks documents and makes no embeddings: use it with /v1/rerank.";
      if (embedding !== null) return null;
      return "has no memory left for embeddings: lower --context or --sequences, or raise --memory.";
    case "rank":
      return ranks || embedding?.pooling === null
        ? null
        : "does not rank documents; it takes a model with a pooling of type rank.";
  }
}

/** Throws 400 for a model that cannot write the text between a prefix and a suffix. */
export function requireInfill({ infill }: Pick<ModelFacts, "infill">): void {
  if (!infill) throw invalidRequest("unsupported_model", "model", NO_INFILL);
}

interface RequestedVectors {
  inputs: readonly EmbeddingInput[];
  dimensions: number | null;
}

/** Throws 400 for the faults that are known without the engine: token ids, lengths in tokens, dimensions. */
export function checkInputs(
  { inputs, dimensions }: RequestedVectors,
  { vocabulary, embedding }: Pick<ModelFacts, "vocabulary" | "embedding">,
): void {
  for (const [index, input] of inputs.entries()) {
    if (input.kind !== "tokens") continue;
    const { length } = input.tokens;
    checkVocabulary(input.tokens, "input", vocabulary);
    if (embedding === null || length <= embedding.context) continue;
    const named = inputs.length > 1 ? `input[${index}]` : "input";
    const message = `Invalid '${named}': this model reads at most ${embedding.context} tokens of one input, and it has ${length}.`;
    throw invalidRequest("context_length_exceeded", "input", message);
  }
  const width = embedding?.width ?? null;
  if (width === null || dimensions === null || dimensions <= width) return;
  const message = `Invalid 'dimensions': this model's vectors have ${width} numbers.`;
  throw invalidRequest("invalid_value", "dimensions", message);
}
