import type { EngineConfig } from "../engine/config.ts";
import type { Options } from "./options/table.ts";

/** What the engine process of one model is started with. */
export function engineConfig(model: string, path: string, options: Options): EngineConfig {
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
    toolFormat,
  } = options;
  return {
    model,
    path,
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
    llamaDir,
    stepTokens,
    sloTtftMs,
    sloItlMs,
    batchTax,
    batchStepMs,
    memory,
    parkMemory,
    cacheScope,
    toolFormat: toolFormat[model] ?? null,
  };
}
