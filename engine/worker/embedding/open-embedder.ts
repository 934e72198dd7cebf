import type { EngineConfig } from "../../protocol/config.ts";
import type { FromEngine } from "../../protocol/messages.ts";
import type { Adapters } from "../native/adapters.ts";
import { EmbeddingContextPair } from "../native/embedding-context-pair.ts";
import { type EmbeddingPlan, embeddingShape, planEmbedding } from "../native/embedding-plan.ts";
import type { Library } from "../native/library/library.ts";
import { embeddingBudget, type MemoryFacts } from "../native/memory-plan.ts";
import type { Model } from "../native/model.ts";
import type { Tokenizer } from "../text/tokenizer.ts";
import { Embedder } from "./embedder.ts";
import { InputTokenizer } from "./input-tokenizer.ts";

/** @param cacheBytes bytes of the KV cache of generations */
export function embeddingPlan(
  model: Model,
  config: EngineConfig,
  facts: MemoryFacts,
  cacheBytes: number,
): EmbeddingPlan | null {
  const shape = embeddingShape(model, config, facts);
  return planEmbedding(config, shape, embeddingBudget(config, facts, cacheBytes));
}

export interface EmbedderRun {
  threads: number;
  tokenizer: Tokenizer;
  now: () => number;
  post: (message: FromEngine) => void;
  wake: () => void;
}

/** Allocates no context until the first input. */
export function openEmbedder(
  library: Library,
  model: Model,
  adapters: Adapters,
  config: EngineConfig,
  plan: EmbeddingPlan,
  { threads, tokenizer, ...run }: EmbedderRun,
): Embedder {
  const { vocabulary, rankTemplate } = model;
  const { context } = plan;
  return new Embedder({
    ...run,
    plan,
    inputs: new InputTokenizer({ tokenizer, vocabulary, rankTemplate, context }),
    open: () => new EmbeddingContextPair(library, model, adapters, config, plan, threads),
  });
}
