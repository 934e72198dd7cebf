import type { EngineConfig } from "../../config.ts";
import type { Model } from "./model.ts";

/** enum llama_flash_attn_type */
export const FLASH_ATTENTION = { auto: -1, off: 0, on: 1 } as const;
/**
 * llama.cpp's CPU kernel for few rows spends a fixed effort on every key: with heads of 32 numbers decoding is 2.2 times
 * as fast without it (llama-batched-bench, demo model, 8 and 32 sequences, 64 + 128 tokens: 5,170 against 2,360 and 5,610
 * against 2,450 tokens/s). With heads of 64 it is on par at short contexts and wins prefill by a third.
 */
const FLASH_ATTENTION_HEAD = 64;

/** Whether a context that decodes has flash attention; auto leaves it to llama.cpp, which asks the device. */
export function flashAttention(config: EngineConfig, model: Model): EngineConfig["flashAttention"] {
  if (config.flashAttention !== "auto") return config.flashAttention;
  const gpu = model.devices.some((device) => device.kind === "gpu");
  // llama.cpp keeps a quantized V cache with flash attention alone.
  const quantized = config.cacheTypeV.includes("_");
  return gpu || quantized || model.headSize >= FLASH_ATTENTION_HEAD ? "auto" : "off";
}
