import { DEFAULT_SHIFT } from "../../batch/shift-rules.ts";
import { CACHE_SCOPES, CACHE_TYPES } from "../../engine/config.ts";
import { TOOL_FORMAT_NAMES } from "../../engine/tools/formats.ts";
import type { ModelPrice, TierFactors } from "../../ledger/prices.ts";
import {
  choice,
  either,
  integer,
  type Kind,
  keeping,
  models,
  optional,
  seconds,
  share,
  size,
  sizeText,
  text,
  texts,
  usd,
} from "./kind.ts";
import { prices, tierFactors } from "./price-kind.ts";
import { shift } from "./shift-kind.ts";
import { toolFormats } from "./tool-format-kind.ts";
import { webhooks } from "./webhooks-kind.ts";

/** One option: its key in the table is its YAML key; flag and environment variable follow from it (name.ts). */
export interface Option<T> {
  group: Group;
  help: string;
  kind: Kind<T>;
  default: T;
  /** Says what an unset option comes to, where the default value alone does not. */
  defaultText?: string;
}

export type Group = "Server" | "Models" | "Engine" | "Limits" | "Batches" | "Money" | "Webhooks" | "Access" | "Logs";

const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;

const MiB = 2 ** 20;
const GiB = 2 ** 30;

/**
 * Every option there is. Flags, environment, configuration file, `--help` and docs/options.md come from this table.
 * Rules between options stand in rules.ts.
 */
export const OPTIONS = {
  host: row("Server", text("address"), "127.0.0.1", "Address to listen on."),
  port: row("Server", integer(0, 65_535), 8080, "Port to listen on; 0 takes a free one."),
  dataDir: row("Server", text("dir"), "./data", "Where Nightshift keeps what it stores."),
  shutdownGrace: row("Server", seconds(0, 3600), 30, "How long running requests may go on after SIGTERM."),

  model: row(
    "Models",
    models(),
    [],
    "A model to serve: a GGUF file, hf:owner/repo:Q4_K_M or an https URL; name= before it names it, +adapter.gguf@0.8 " +
      "after it puts a LoRA adapter on it. Repeatable.",
    "the bundled demo model, as `demo`",
  ),
  modelsDir: row(
    "Models",
    optional(text("dir")),
    null,
    "Where downloaded models are kept.",
    "`models` in the data directory",
  ),
  context: row(
    "Models",
    optional(integer(16, 4_194_304, "tokens")),
    null,
    "The longest request in tokens, prompt and output.",
    "the model's trained context, at most 8,192, less when memory is short",
  ),
  keepAlive: row(
    "Models",
    keeping(),
    null,
    "How long a model without requests stays in memory; any but forever also has models loaded only when they are asked " +
      "for.",
    "forever: all models are loaded at start and kept",
  ),
  sequences: row("Models", integer(1, 256), 32, "Sequences that run at once."),

  toolFormat: row<Record<string, string>>(
    "Models",
    toolFormats(),
    {},
    `How a model writes tool calls, where its chat template does not tell: ${TOOL_FORMAT_NAMES.join(", ")}. Repeatable.`,
    "what the chat template asks for",
  ),

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
    "Flash attention; auto is on, but off on a CPU for models with attention heads of fewer than 64 numbers.",
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
    integer(1, 3_600_000, "ms"),
    500,
    "Objective of online requests for the time to the first token, in milliseconds.",
  ),
  sloItlMs: row(
    "Engine",
    integer(1, 60_000, "ms"),
    50,
    "Objective of online streams for the time between two tokens, in milliseconds: it bounds the prompt tokens of a step " +
      "in which streams wait.",
  ),
  batchTax: row(
    "Engine",
    share(10),
    0.1,
    "How much longer flex and batch work may make a step that has online work, as a share; never past --slo-itl-ms.",
  ),
  batchStepMs: row(
    "Engine",
    optional(integer(1, 60_000, "ms")),
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

  queueLimit: row("Limits", integer(0, 1_000_000), 512, "Requests that may wait; the next one is answered 503."),
  maxWaitMs: row(
    "Limits",
    either(choice(["off"]), integer(1, 86_400_000, "ms")),
    60_000,
    "How long an online request may be expected to wait, in milliseconds, before it is answered 503; off takes all that " +
      "--queue-limit lets in.",
  ),
  flexWaitMs: row(
    "Limits",
    either(choice(["off"]), integer(1, 86_400_000, "ms")),
    300_000,
    "How long a flex request may be expected to wait, or wait, before it is answered 429, in milliseconds.",
  ),
  maxBody: row("Limits", size(1024, GiB), 10 * MiB, "The largest request body."),
  maxN: row("Limits", integer(1, 128), 16, "The most choices (`n`) that one request may ask for."),
  diskReserve: row(
    "Limits",
    size(0, 1024 * GiB),
    1_000_000_000,
    "Free disk space that clients' files leave for the database and results; an upload that would use it is answered 507.",
  ),
  storageQuota: row(
    "Limits",
    optional(size(0, 16_384 * GiB)),
    null,
    "The most bytes that one owner's files may take.",
    "no bound but the disk",
  ),
  maxOpenBatches: row(
    "Limits",
    integer(1, 100_000),
    500,
    "The most batches of one owner that are not over; the next one is answered 429.",
  ),
  maxConnections: row("Limits", integer(1, 1_000_000), 4096, "Open client connections; the next one is answered 503."),

  prices: row<Record<string, ModelPrice>>(
    "Money",
    prices(),
    {},
    "What a model's tokens cost, in USD per million: input, cached input, output. Repeatable.",
    "demo=0.10/0.02/0.40; a model without a price costs nothing",
  ),
  tierFactors: row<Partial<TierFactors>>(
    "Money",
    tierFactors(),
    {},
    "What a tier multiplies the prices by. Repeatable.",
    "priority=1.75, default=1, flex=0.5, batch=0.5",
  ),

  machineUsdPerHour: row(
    "Money",
    optional(usd(1_000_000)),
    null,
    "What this machine costs in USD per hour: `nightshift plan` and /v1/nightshift/engine then tell what a million " +
      "tokens cost at each batch size.",
    "none",
  ),
  machineSpotUsdPerHour: row(
    "Money",
    optional(usd(1_000_000)),
    null,
    "The same where it can be had as a spot machine.",
    "none",
  ),

  shift: row(
    "Batches",
    shift(),
    DEFAULT_SHIFT,
    "When batch work runs: at any hour, in windows by night, while online load is low, or never.",
    "always",
  ),
  batchWindow: row(
    "Batches",
    seconds(60, 2_592_000),
    86_400,
    "How long after its creation a batch may run before it expires.",
  ),
  batchLineTimeout: row(
    "Batches",
    seconds(1, 86_400),
    3600,
    "How long one line of a batch may take once the engine has started it.",
  ),

  webhooks: row("Webhooks", webhooks(), [], "Where the ends of batches are told.", "none"),
  webhookAllowPrivate: row(
    "Webhooks",
    choice(["on", "off"]),
    "off",
    "Send webhooks also to this machine and private networks, and there over http too.",
  ),

  apiKeys: row("Access", choice(["on", "off"]), "off", "Ask every client for an API key."),
  metricsToken: row(
    "Access",
    optional(text("token")),
    null,
    "Bearer token of /metrics when the server does not listen on loopback.",
    "none: /metrics is open on loopback and closed elsewhere",
  ),
  corsOrigin: row(
    "Access",
    texts("origin"),
    [],
    "A web origin (https://app.example) whose pages may call the API, or * for all. Repeatable.",
    "none",
  ),
  allowedHost: row(
    "Access",
    texts("name"),
    [],
    "A host name, without port, to answer besides the loopback names. Repeatable.",
    "none",
  ),

  logLevel: row(
    "Logs",
    choice(LOG_LEVELS, "level"),
    "info",
    `The least severe log line to write: ${LOG_LEVELS.join(", ")}.`,
  ),
  logFormat: row(
    "Logs",
    choice(["auto", "json", "pretty"]),
    "auto",
    "auto writes pretty lines on a terminal, else JSON.",
  ),
};

export type OptionKey = keyof typeof OPTIONS;
export type Options = { [K in OptionKey]: (typeof OPTIONS)[K] extends Option<infer T> ? T : never };

export const OPTION_KEYS = Object.keys(OPTIONS) as OptionKey[];

/** The default as help and documents tell it. */
export function fallbackText(key: OptionKey): string {
  const { default: value, defaultText, kind }: Option<unknown> = OPTIONS[key];
  if (defaultText !== undefined) return defaultText;
  return kind.metavar === "size" && typeof value === "number" ? sizeText(value) : String(value);
}

function row<T>(group: Group, kind: Kind<T>, fallback: NoInfer<T>, help: string, defaultText?: string): Option<T> {
  return { group, help, kind, default: fallback, defaultText };
}
