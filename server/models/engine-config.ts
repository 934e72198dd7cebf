import { join } from "node:path";
import type { ChatTemplateFile, EngineConfig } from "../../engine/protocol/config.ts";
import type { Options } from "../options/table.ts";
import type { ResolvedModel } from "./source/resolve.ts";

/** Options that the engine takes as they are. */
const ENGINE_KEYS = [
  "context",
  "sequences",
  "kv",
  "cells",
  "threads",
  "gpu",
  "splitMode",
  "cacheTypeK",
  "cacheTypeV",
  "flashAttention",
  "llamaDir",
  "stepTokens",
  "sloTtftMs",
  "sloItlMs",
  "batchTax",
  "batchStepMs",
  "memory",
  "parkMemory",
  "cacheScope",
  "reasoningBudget",
] as const satisfies readonly (keyof EngineConfig & keyof Options)[];

/** The configuration of one model's engine process. */
export function engineConfig(
  { name, path, adapters }: ResolvedModel,
  options: Options,
  chatTemplate: ChatTemplateFile | null,
): EngineConfig {
  return {
    ...pick(options, ENGINE_KEYS),
    model: name,
    path,
    adapters,
    calibrationDir: options.calibration === "on" ? join(options.dataDir, "calibration") : null,
    timeoutMs: options.engineTimeout * 1000,
    toolFormat: options.toolFormat[name] ?? null,
    chatTemplate,
  };
}

function pick<T extends object, K extends keyof T>(from: T, keys: readonly K[]): Pick<T, K> {
  return Object.fromEntries(keys.map((key) => [key, from[key]])) as Pick<T, K>;
}
