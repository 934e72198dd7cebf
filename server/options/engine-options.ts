import { CACHE_SCOPES, CACHE_TYPES } from "../../engine/protocol/config.ts";
import { milliseconds, seconds } from "./kinds/duration-kind.ts";
import { choice, either, integer, optional, share, size, text } from "./kinds/kind.ts";
import { row } from "./option.ts";

const MiB = 2 ** 20;
const GiB = 2 ** 30;

/** How models are loaded and computed; a part of the table. */
export const ENGINE_OPTIONS = {
  kv: row(
    "Engine",
    choice(["auto", "split", "unified"]),
    "auto",
    "The kind of KV cache: split gives every sequence its own cells, unified shares all of them.",
  ),
  cells: row(
    "Engine",
    optional(integer(16, 1_000_000_000)),
    null,
    "KV cells of a unified cache in all.",
    "what the memory allows, at most context × sequences",
  ),
  cacheTypeK: row(
    "Engine",
    choice(CACHE_TYPES, "type"),
    "f16",
    `Number format of the cached keys: ${CACHE_TYPES.join(", ")}.`,
  ),
  cacheTypeV: row("Engine", choice(CACHE_TYPES, "type"), "f16", "Number format of the cached values, one of the same."),
  cacheScope: row(
    "Engine",
    choice(CACHE_SCOPES),
    "owner",
    "Whose prompts reuse computed prefixes: owner keeps those of different API keys' owners apart, global shares them.",
  ),
  flashAttention: row(
    "Engine",
    choice(["auto", "on", "off"]),
    "auto",
    "Flash attention; auto takes what a calibration at start finds faster. Without one it is on, but off on a CPU for " +
      "models with attention heads of fewer than 64 numbers, save for 64 and more tokens of embeddings at once.",
  ),
  calibration: row(
    "Engine",
    choice(["on", "off"]),
    "on",
    "Whether a model that is loaded for the first time here has a few steps timed, two seconds at most; what they took is " +
      "kept in the data directory.",
  ),
  memory: row(
    "Engine",
    optional(size(MiB, 16_384 * GiB)),
    null,
    "Memory that weights and KV cache of one model may take.",
    "what is free at start",
  ),
  totalMemory: row(
    "Engine",
    optional(size(MiB, 16_384 * GiB)),
    null,
    "Memory that weights and KV caches of all models may take together; it is shared out before any is loaded.",
    "seven eighths of what is free at start",
  ),
  parkMemory: row(
    "Engine",
    optional(size(0, 16_384 * GiB)),
    null,
    "Host memory for prefixes that the KV cache has no room for, per model; 0 drops them.",
    "an eighth of what is free beside weights and cache, at most 8 GiB",
  ),
  reasoningBudget: row(
    "Engine",
    optional(integer(0, 1_000_000_000, "tokens")),
    null,
    "Most tokens that a model may think in a chat, where the request sets no bound of its own.",
    "none",
  ),
  threads: row("Engine", optional(integer(1, 1024)), null, "Compute threads.", "CPU cores − 1, at least 1"),
  gpu: row(
    "Engine",
    either(choice(["auto", "off"]), integer(0, 10_000, "layers")),
    "auto",
    "Layers to put on the GPU; auto takes all that there is room for, off none.",
  ),
  splitMode: row("Engine", choice(["none", "layer", "row"]), "layer", "How a model is spread over several GPUs."),
  stepTokens: row("Engine", integer(32, 16_384), 512, "Most tokens that one step computes."),
  llamaDir: row(
    "Engine",
    optional(text("dir")),
    null,
    "A directory with an own build of llama.cpp, of the release that Nightshift is made for.",
    "the libraries that come with Nightshift",
  ),
  sloTtftMs: row(
    "Engine",
    either(choice(["auto"]), integer(1, 3_600_000, "ms")),
    "auto",
    "Objective of online requests for the time to the first token, in milliseconds; auto derives it from what steps of " +
      "this model take on this machine, at least 500.",
  ),
  sloItlMs: row(
    "Engine",
    either(choice(["auto"]), integer(1, 60_000, "ms")),
    "auto",
    "Objective of online streams for the time between two tokens, in milliseconds: it bounds the prompt tokens of a step " +
      "in which streams wait, but prompts get at least half of the time. auto derives it from what steps of this model " +
      "take on this machine, at least 50.",
  ),
  batchTax: row(
    "Engine",
    share(10),
    0.1,
    "How much longer flex and batch work may make the steps of online work, as a share of all of them; no gap between two " +
      "tokens is made longer than --slo-itl-ms.",
  ),
  batchStepMs: row(
    "Engine",
    optional(milliseconds(1, 60_000)),
    null,
    "Most milliseconds of a step that has only flex and batch work: so long an online request waits that arrives at the " +
      "worst instant. A step that makes any progress may take longer.",
    "25, or 40 % of --slo-ttft-ms if that is less; where the cheapest step takes longer than 25, two such steps, within " +
      "the 40 %",
  ),
  engineTimeout: row(
    "Engine",
    seconds(1, 86_400),
    120,
    "An engine process that has work and makes no step for so long is taken for hung and restarted.",
  ),
};
