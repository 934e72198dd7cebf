import { CACHE_SCOPES, CACHE_TYPES } from "../../engine/protocol/config.ts";
import { milliseconds, seconds } from "./kinds/duration-kind.ts";
import { choice, either, integer, optional, share, size, text } from "./kinds/kind.ts";
import { row } from "./option.ts";

const MiB = 2 ** 20;
const GiB = 2 ** 30;

/** Options of loading and computing models; a part of the table. */
export const ENGINE_OPTIONS = {
  kv: row(
    "Engine",
    choice(["auto", "split", "unified"]),
    "auto",
    "Kind of KV cache: split gives each sequence its own cells, unified shares all cells.",
  ),
  cells: row(
    "Engine",
    optional(integer(16, 1_000_000_000)),
    null,
    "Total cells of a unified KV cache.",
    "as many as memory allows, at most context × sequences",
  ),
  cacheTypeK: row(
    "Engine",
    choice(CACHE_TYPES, "type"),
    "f16",
    `Number format of the cached keys: ${CACHE_TYPES.join(", ")}.`,
  ),
  cacheTypeV: row(
    "Engine",
    choice(CACHE_TYPES, "type"),
    "f16",
    "Number format of the cached values, from the same list.",
  ),
  cacheScope: row(
    "Engine",
    choice(CACHE_SCOPES),
    "owner",
    "Which requests share computed prefixes: owner shares only between API keys of one owner, global shares between all.",
  ),
  flashAttention: row(
    "Engine",
    choice(["auto", "on", "off"]),
    "auto",
    "Flash attention. auto uses whichever the calibration measured as faster. Without a calibration auto is on, except on " +
      "a CPU for models with attention heads smaller than 64, where only embedding batches of at least 64 tokens use it.",
  ),
  calibration: row(
    "Engine",
    choice(["on", "off"]),
    "on",
    "on: time some steps for at most two seconds when a model is loaded for the first time. The data directory keeps the " +
      "measurements.",
  ),
  memory: row(
    "Engine",
    optional(size(MiB, 16_384 * GiB)),
    null,
    "Maximum memory of the weights and KV cache of one model.",
    "the memory that is free at start",
  ),
  totalMemory: row(
    "Engine",
    optional(size(MiB, 16_384 * GiB)),
    null,
    "Maximum memory of the weights and KV caches of all models together. It is divided before the first model is loaded.",
    "seven eighths of the memory that is free at start",
  ),
  parkMemory: row(
    "Engine",
    optional(size(0, 16_384 * GiB)),
    null,
    "Host memory per model for prefixes that are offloaded from a full KV cache; 0 disables offloading.",
    "an eighth of the memory that weights and cache leave free, at most 8 GiB",
  ),
  reasoningBudget: row(
    "Engine",
    optional(integer(0, 1_000_000_000, "tokens")),
    null,
    "Maximum reasoning tokens of a chat request that does not set its own maximum.",
    "none",
  ),
  threads: row("Engine", optional(integer(1, 1024)), null, "Number of compute threads.", "CPU cores − 1, at least 1"),
  gpu: row(
    "Engine",
    either(choice(["auto", "off"]), integer(0, 10_000, "layers")),
    "auto",
    "Layers on the GPU: auto is as many as fit, off is none.",
  ),
  splitMode: row("Engine", choice(["none", "layer", "row"]), "layer", "How a model is divided between several GPUs."),
  stepTokens: row("Engine", integer(32, 16_384), 512, "Maximum tokens of one step."),
  llamaDir: row(
    "Engine",
    optional(text("dir")),
    null,
    "Directory of your own build of llama.cpp, of the release that Nightshift requires.",
    "the libraries that are shipped with Nightshift",
  ),
  sloTtftMs: row(
    "Engine",
    either(choice(["auto"]), integer(1, 3_600_000, "ms")),
    "auto",
    "Objective for the time to first token of online requests, in milliseconds. auto derives it from measured step times, " +
      "at least 500.",
  ),
  sloItlMs: row(
    "Engine",
    either(choice(["auto"]), integer(1, 60_000, "ms")),
    "auto",
    "Objective for the time between two tokens of an online stream, in milliseconds. It limits the prompt tokens of steps " +
      "that delay streams; prompts always get at least half of the time. auto derives it from measured step times, at " +
      "least 50.",
  ),
  batchTax: row(
    "Engine",
    share(10),
    0.1,
    "Maximum share by which flex and batch work may lengthen the steps of online work, over all steps. No gap between two " +
      "tokens is lengthened beyond --slo-itl-ms.",
  ),
  batchStepMs: row(
    "Engine",
    optional(milliseconds(1, 60_000)),
    null,
    "Maximum milliseconds of a step with only flex and batch work, and so of the delay that it adds to an online request. " +
      "The smallest possible step may take longer.",
    "5 % of --slo-ttft-ms, at least 25; twice the cheapest step if that takes longer; at most 40 % of --slo-ttft-ms",
  ),
  engineTimeout: row(
    "Engine",
    seconds(1, 86_400),
    120,
    "An engine process that has work and completes no step within this time is restarted.",
  ),
};
