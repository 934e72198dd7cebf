import type { EngineConfig } from "../../protocol/config.ts";
import { type MemoryPlan, SLACK_BYTES } from "./memory-plan.ts";
import type { Model } from "./model.ts";

/** enum llama_flash_attn_type */
export const FLASH_ATTENTION = { auto: -1, off: 0, on: 1 } as const;
/**
 * Numbers of a head from which flash attention is on. llama.cpp's CPU kernel for few rows has a fixed cost for every key: with
 * heads of 32 numbers decoding is 2.2 times as fast without it (llama-batched-bench, demo model, 8 and 32 sequences, 64 + 128 tokens: 5,170 against 2,360 and 5,610
 * against 2,450 tokens/s). With heads of 64 it is on par at short contexts and is faster in prefill by a third.
 */
const FLASH_ATTENTION_HEAD = 64;
/** The share of the free memory that attention without flash may take for the scores of a step. */
const SCORES_SHARE = 1 / 16;
const SCORE_BYTES = 4;

/** Flash attention of a decoding context without a calibration; auto leaves it to llama.cpp, which checks the device. */
export function flashAttention(config: EngineConfig, model: Model): EngineConfig["flashAttention"] {
  if (config.flashAttention !== "auto") return config.flashAttention;
  const gpu = model.devices.some((device) => device.kind === "gpu");
  return gpu || needsFlash(config) || model.headSize >= FLASH_ATTENTION_HEAD ? "auto" : "off";
}

/**
 * True when there is memory for a context without flash attention, which holds the scores of all tokens of a step against
 * all cells of a sequence.
 */
export function mayLackFlash(
  config: Pick<EngineConfig, "cacheTypeV" | "memory" | "stepTokens">,
  model: Pick<Model, "heads">,
  { kv, cells, ids }: Pick<MemoryPlan, "kv" | "cells" | "ids">,
  freeBytes: number,
): boolean {
  if (needsFlash(config)) return false;
  const perSequence = kv === "split" ? cells / ids : cells;
  const scores = model.heads * config.stepTokens * perSequence * SCORE_BYTES;
  return scores <= (config.memory === null ? Math.max(SLACK_BYTES, SCORES_SHARE * freeBytes) : SLACK_BYTES);
}

/** llama.cpp allows a quantized V cache only with flash attention. */
function needsFlash({ cacheTypeV }: Pick<EngineConfig, "cacheTypeV">): boolean {
  return cacheTypeV.includes("_");
}
