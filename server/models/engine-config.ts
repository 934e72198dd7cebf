import { join } from "node:path";
import type { EngineConfig } from "../../engine/protocol/config.ts";
import type { Options } from "../options/table.ts";
import type { ResolvedModel } from "./source/resolve.ts";

/** What the engine process of one model is started with. */
export function engineConfig({ name, path, adapters }: ResolvedModel, options: Options): EngineConfig {
  const { context, sequences, kv, cells, threads, gpu, splitMode, cacheTypeK, cacheTypeV, flashAttention } = options;
  const {
    llamaDir,
    stepTokens,
    sloTtftMs,
    sloItlMs,
    batchTax,
    batchStepMs,
    memory,
    parkMemory,
    cacheScope,
    reasoningBudget,
    toolFormat,
  } = options;
  return {
    model: name,
    path,
    adapters,
    context,
    sequences,
    kv,
    cells,
    threads,
    gpu,
    splitMode,
    cacheTypeK,
    cacheTypeV,
    flashAttention,
    calibrationDir: options.calibration === "on" ? join(options.dataDir, "calibration") : null,
    llamaDir,
    stepTokens,
    sloTtftMs,
    sloItlMs,
    batchTax,
    batchStepMs,
    timeoutMs: options.engineTimeout * 1000,
    memory,
    parkMemory,
    cacheScope,
    reasoningBudget,
    toolFormat: toolFormat[name] ?? null,
  };
}
