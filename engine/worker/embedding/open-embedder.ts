import type { EngineConfig } from "../../config.ts";
import type { FromEngine } from "../../protocol/messages.ts";
import type { Adapters } from "../native/adapters.ts";
import { EmbeddingContexts } from "../native/embedding-contexts.ts";
import { type EmbeddingPlan, embeddingShape, planEmbedding } from "../native/embedding-plan.ts";
import type { Library } from "../native/library.ts";
import type { MemoryFacts } from "../native/memory-plan.ts";
import type { Model } from "../native/model.ts";
import { Embedder } from "./embedder.ts";
import { InputTokens } from "./input-tokens.ts";

/** The share of what is left beside weights and cache that embeddings may take. */
const LEFT_SHARE = 0.5;

/** @param cacheBytes what generations take */
export function embeddingPlan(
  model: Model,
  config: EngineConfig,
  { cellBytes, freeBytes, weightBytes }: MemoryFacts,
  cacheBytes: number,
): EmbeddingPlan | null {
  const left = Math.max(0, (config.memory ?? freeBytes) - weightBytes - cacheBytes);
  return planEmbedding(config, embeddingShape(model, config, cellBytes), left * LEFT_SHARE);
}

/** Nothing is allocated until the first input comes. */
export function openEmbedder(
  library: Library,
  model: Model,
  adapters: Adapters,
  config: EngineConfig,
  plan: EmbeddingPlan,
  run: { threads: number; now: () => number; post: (message: FromEngine) => void; wake: () => void },
): Embedder {
  return new Embedder({
    ...run,
    plan,
    inputs: new InputTokens(model.vocabulary, model.rankTemplate),
    open: () => new EmbeddingContexts(library, model, adapters, config, plan, run.threads),
  });
}
