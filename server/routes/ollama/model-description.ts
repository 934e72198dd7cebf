import { createHash } from "node:crypto";
import type { ModelFacts } from "../../../engine/protocol/config.ts";
import type { OllamaLoaded, OllamaModel, OllamaTags } from "../../../openapi/ollama/models.ts";
import { rfc3339 } from "../../dialects/ollama/answer-lines.ts";
import { taggedName } from "../../dialects/ollama/model-name.ts";
import { thinks } from "../../dialects/ollama/settings.ts";
import type { ServedModel } from "../../models/model-set.ts";

type Details = OllamaModel["details"];
type Capabilities = OllamaModel["capabilities"];

/** Unix seconds at which a model leaves the memory that stays there. */
const FOREVER = Date.UTC(2318, 0, 1) / 1000;
/** Counts above which a unit of parameters is used. */
const UNITS: readonly [number, string][] = [
  [1e12, "T"],
  [1e9, "B"],
  [1e6, "M"],
  [1e3, "K"],
];

/** An entry of the list of models, under one of its names. Nothing is read for it: clients poll the list. */
export function listedModel({ created, engine: { facts } }: ServedModel, name: string): OllamaTags["models"][number] {
  return { ...entry(name, facts), modified_at: rfc3339(created), capabilities: capabilities(facts) };
}

/**
 * An entry of the list of models in memory.
 *
 * @param expiresAt Unix seconds; null for a model that stays
 */
export function loadedModel(name: string, facts: ModelFacts, expiresAt: number | null): OllamaLoaded["models"][number] {
  return {
    ...entry(name, facts),
    expires_at: rfc3339(expiresAt ?? FOREVER),
    size_vram: vramBytes(facts),
    context_length: servedContext(facts),
  };
}

function vramBytes({ local }: ModelFacts): number {
  return local === null || local.backend === "cpu" ? 0 : local.bytes + local.cacheBytes;
}

/** One model in detail. */
export function describedModel(
  { id, created, engine: { facts } }: ServedModel,
  model_info: OllamaModel["model_info"],
): OllamaModel {
  return {
    license: "",
    modelfile: `FROM ${taggedName(id)}\n`,
    parameters: facts === null ? "" : `num_ctx ${servedContext(facts)}`,
    template: "",
    system: "",
    details: details(facts),
    model_info,
    capabilities: capabilities(facts),
    modified_at: rfc3339(created),
  };
}

function entry(name: string, facts: ModelFacts | null) {
  const tagged = taggedName(name);
  return {
    name: tagged,
    model: tagged,
    size: facts?.local?.bytes ?? 0,
    digest: createHash("sha256").update(name).digest("hex"),
    details: details(facts),
  };
}

function details(facts: ModelFacts | null): Details {
  const family = facts?.local?.architecture ?? "";
  return {
    parent_model: "",
    format: "gguf",
    family,
    families: family === "" ? [] : [family],
    parameter_size: facts?.local == null ? "" : parameterSize(facts.local.parameters),
    quantization_level: facts?.local == null ? "" : quantization(facts.description),
    ...(facts !== null && { context_length: servedContext(facts) }),
    ...(facts?.embedding?.width != null && { embedding_length: facts.embedding.width }),
  };
}

/** A model that has not been loaded yet is listed as one that chats and calls tools, as most do. */
function capabilities(facts: ModelFacts | null): Capabilities {
  if (facts === null) return ["completion", "tools"];
  if (!facts.generates) return facts.embedding?.pooling === "rank" ? [] : ["embedding"];
  return [
    "completion",
    ...(facts.takesTools ? (["tools"] as const) : []),
    ...(facts.infill ? (["insert"] as const) : []),
    ...(thinks(facts) ? (["thinking"] as const) : []),
  ];
}

/** The longest request in tokens. */
export function servedContext({ generates, context, embedding }: ModelFacts): number {
  return generates ? context : (embedding?.context ?? context);
}

function parameterSize(count: number): string {
  const [size, unit] = UNITS.find(([least]) => count >= least) ?? [1, ""];
  return `${(count / size).toFixed(unit === "T" || unit === "B" ? 1 : 2)}${unit}`;
}

/** The end of llama.cpp's description: `Q4_K_M` of "qwen2 7B Q4_K - Medium". */
function quantization(description: string): string {
  const name = description.split(" ").slice(2).join(" ");
  return name.replace(/ - (\w)\w*$/, (_, letter: string) => `_${letter.toUpperCase()}`);
}
