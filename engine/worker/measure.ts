import { statSync } from "node:fs";
import type { EngineConfig, ModelHeader, ModelMeasurement } from "../protocol/config.ts";
import { freeMemory } from "./machine-memory.ts";
import { embeddingShape, wantedBytes } from "./native/embedding-plan.ts";
import { loadLibrary } from "./native/library/library.ts";
import { embeddingNeeds, memoryNeeds } from "./native/memory-plan.ts";
import { loadModel, type Model } from "./native/model.ts";

/** The memory that a model needs here, and its header, without loading it. @throws Error that says why it can't be loaded */
export async function measure(config: EngineConfig): Promise<ModelMeasurement> {
  const library = loadLibrary(config.llamaDir, config.gpu !== "off");
  const free = freeMemory(library, config);
  const model = await loadModel(library, config, () => {}, true);
  const bare = model.memoryFacts(config, free);
  const adapterBytes = config.adapters.reduce((sum, { path }) => sum + statSync(path).size, 0);
  const facts = { ...bare, weightBytes: bare.weightBytes + adapterBytes };
  const embeddingBytes = wantedBytes(config, embeddingShape(model, config, facts));
  const needs =
    model.pooling === null ? memoryNeeds(config, facts, embeddingBytes) : embeddingNeeds(facts, embeddingBytes);
  return { ...needs, header: headerOf(model) };
}

function headerOf(model: Model): ModelHeader {
  const { description, architecture, parameters, bytes, trainedContext, memory, chatTemplate, pooling } = model;
  return {
    ...{ description, architecture, parameters, bytes, trainedContext, memory },
    chatTemplate: chatTemplate !== null,
    generates: pooling === null,
  };
}
