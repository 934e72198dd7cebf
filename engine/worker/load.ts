import { availableParallelism } from "node:os";
import type { EngineConfig } from "../protocol/config.ts";
import type { FromEngine } from "../protocol/messages.ts";
import { calibrate } from "./calibration/calibrate.ts";
import { embeddingPlan } from "./embedding/open-embedder.ts";
import { EmbeddingEngine } from "./embedding-engine.ts";
import { GeneratingEngine } from "./generating-engine.ts";
import type { LoadedModel } from "./loaded-model.ts";
import { freeMemory } from "./machine-memory.ts";
import { loadAdapters } from "./native/adapters.ts";
import { loadLibrary } from "./native/library/library.ts";
import { cacheBytes, planMemory, planParking } from "./native/memory-plan.ts";
import { loadModel } from "./native/model.ts";

/** Loads a model and plans its memory. @throws Error that says why the model can't be served */
export async function load(config: EngineConfig, post: (message: FromEngine) => void): Promise<LoadedModel> {
  if (config.stepTokens <= config.sequences) {
    throw new Error(
      `A step of ${config.stepTokens} tokens has no room for a prompt beside ${config.sequences} sequences: ` +
        "raise --step-tokens or lower --sequences.",
    );
  }
  const library = loadLibrary(config.llamaDir, config.gpu !== "off");
  const free = freeMemory(library, config);
  const model = await loadModel(library, config, (progress) => post({ type: "loading", progress }));
  const adapters = await loadAdapters(library, model, config.adapters);
  const bare = model.memoryFacts(config, free);
  const memory = { ...bare, weightBytes: bare.weightBytes + adapters.bytes };
  const threads = config.threads ?? Math.max(1, availableParallelism() - 1);
  const parts = { library, model, adapters, config, memory, threads, post };
  if (model.pooling !== null) return new EmbeddingEngine(parts, embeddingPlan(model, config, memory, 0));

  const plan = planMemory(config, memory);
  const generationBytes = cacheBytes(plan, memory);
  const taken = free.onGpu ? 0 : memory.weightBytes + generationBytes;
  const parkBytes = planParking(config, free.host - taken);
  const embedding = embeddingPlan(model, config, memory, generationBytes);
  const { cellBytes } = memory;
  const calibration = await calibrate({
    ...{ library, model, adapters, config, plan },
    ...{ threads, cellBytes, freeBytes: free.model },
  });
  return new GeneratingEngine(parts, { ...plan, parkBytes, embedding, calibration });
}
