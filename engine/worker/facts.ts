import { createHash } from "node:crypto";
import { basename } from "node:path";
import type { EmbeddingFacts, EngineConfig, LocalFacts, ModelFacts } from "../protocol/config.ts";
import type { Objectives } from "../protocol/step.ts";
import type { Calibration } from "./calibration/calibrate.ts";
import { fileIdentity } from "./native/library/file-identity.ts";
import type { Library } from "./native/library/library.ts";
import type { MemoryPlan } from "./native/memory-plan.ts";
import type { Model } from "./native/model.ts";
import type { ChatTemplate } from "./text/template/chat-template.ts";

/** The properties of a loaded model, for the server. */
export function factsOf(
  library: Library,
  model: Model,
  config: EngineConfig,
  plan: MemoryPlan,
  found: {
    threads: number;
    /** Bytes of the plan's cells and states. */
    cacheBytes: number;
    /** Null for a model that does not generate. */
    calibration: Calibration | null;
    objectives: Objectives;
    parkBytes: number;
    /** Null for a model that does not generate. */
    template: Pick<ChatTemplate, "fallback" | "toolFormat" | "toolRefusal" | "reasoningTags"> | null;
    embedding: EmbeddingFacts | null;
  },
): ModelFacts {
  const { description, architecture, parameters, bytes } = model;
  const adapters = config.adapters.map(({ path, scale }) => ({ name: basename(path), scale }));
  const backend = backendOf(model);
  const { template } = found;
  const tags = template?.reasoningTags ?? null;
  const files = [config.path, ...config.adapters.map(({ path }) => path)];
  const identity = [
    config.model,
    files.map((path) => fileIdentity(library.gguf, path)),
    adapters.map(({ scale }) => scale),
    library.build,
    backend,
    config.cacheTypeK,
    config.cacheTypeV,
    // The template of the model's own file is part of that file.
    ...(config.chatTemplate === null ? [] : [config.chatTemplate.text]),
  ];
  return {
    model: config.model,
    description,
    context: plan.context,
    sequences: config.sequences,
    vocabulary: model.vocabulary.size,
    objectives: found.objectives,
    toolFormat: template?.toolFormat.name ?? "",
    takesTools: template !== null && template.toolRefusal === null,
    reasoningTags: tags === null ? null : { open: tags.open, close: tags.close },
    generates: model.pooling === null,
    infill: model.pooling === null && model.vocabulary.infill !== null,
    embedding: found.embedding,
    fingerprint: `fp_${createHash("sha256").update(JSON.stringify(identity)).digest("hex").slice(0, 12)}`,
    local: {
      path: config.path,
      adapters,
      architecture,
      parameters,
      bytes,
      trainedContext: model.trainedContext,
      kv: plan.kv,
      cells: plan.cells,
      cacheBytes: Math.round(found.cacheBytes),
      parkBytes: found.parkBytes,
      backend,
      devices: model.devices.map((device) => device.description),
      threads: found.threads,
      stepTokens: config.stepTokens,
      flashAttention: found.calibration?.flashAttention ?? config.flashAttention,
      calibration: calibrationFacts(found.calibration),
      memory: model.memory,
      chatTemplate: template?.fallback !== true,
      templateFile: model.pooling === null ? (config.chatTemplate?.path ?? null) : null,
      build: library.build,
      libraryDir: library.directory,
    },
    upstream: null,
  };
}

function calibrationFacts(calibration: Calibration | null): LocalFacts["calibration"] {
  if (calibration === null || calibration.samples.length === 0) return null;
  const { ms, samples, tile } = calibration;
  return { ms: Math.round(ms), steps: samples.length, tileRows: tile.rows };
}

/** Devices are named after their backend: CUDA0, Vulkan0, Metal, CPU. */
function backendOf(model: Model): string {
  return (model.devices[0]?.name ?? "cpu").replace(/\d+$/, "").toLowerCase();
}
