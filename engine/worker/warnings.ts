import { type EngineConfig, USUAL_CONTEXT } from "../protocol/config.ts";
import type { Library } from "./native/library/library.ts";
import type { MemoryPlan } from "./native/memory-plan.ts";
import type { Model } from "./native/model.ts";

/** Warnings for the operator about a model that is served all the same; each null where it does not apply. */

export function shortContext(config: EngineConfig, model: Model, plan: MemoryPlan): string | null {
  const wanted = Math.min(model.trainedContext, USUAL_CONTEXT);
  if (config.context !== null || plan.context >= wanted) return null;
  return (
    `Memory is short: requests may have ${plan.context} tokens instead of ${wanted}. ` +
    "A smaller model, or smaller --cache-type-k and --cache-type-v, leaves room for more."
  );
}

/** A context that only the option asks for. */
export function longContext({ context }: MemoryPlan, { trainedContext }: Pick<Model, "trainedContext">): string | null {
  if (context <= trainedContext) return null;
  return `--context ${context} is more than the ${trainedContext} tokens that the model was trained for: longer prompts may give nonsense.`;
}

/** For a model that only embeds. */
export function unusedTemplate({ chatTemplate }: EngineConfig): string | null {
  return chatTemplate === null ? null : `The chat template ${chatTemplate.path} has no effect: the model only embeds.`;
}

export function idleGpu({ idleGpu }: Library): string | null {
  if (idleGpu === null) return null;
  return `A build for GPUs is installed, but the CPU computes: ${idleGpu} docs/operations.md lists its requirements.`;
}
