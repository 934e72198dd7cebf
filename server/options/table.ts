import { z } from "zod";
import { DEFAULT_SHIFT } from "../../batch/shift/shift-rules.ts";
import { TOOL_FORMAT_NAMES } from "../../engine/tools/formats.ts";
import type { ModelPrice, TierFactors } from "../../ledger/prices.ts";
import { ENGINE_OPTIONS } from "./engine-options.ts";
import { hiddenSecret, host, hostNames, networks, origins, secret } from "./kinds/access-kind.ts";
import { keeping, seconds } from "./kinds/duration-kind.ts";
import { byName, choice, integer, models, optional, size, sizeText, text, usd } from "./kinds/kind.ts";
import { prices, tierFactors } from "./kinds/price-kind.ts";
import { shift } from "./kinds/shift-kind.ts";
import { toolFormats } from "./kinds/tool-format-kind.ts";
import { webhooks } from "./kinds/webhooks-kind.ts";
import { LIMIT_OPTIONS } from "./limit-options.ts";
import { type Option, row } from "./option.ts";

const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;

const _KiB = 2 ** 10;
const _MiB = 2 ** 20;
const _GiB = 2 ** 30;

/**
 * Every option there is. Flags, environment, configuration file, `--help` and docs/options.md come from this table.
 * Rules between options stand in rules.ts.
 */
export const OPTIONS = {
  host: row("Server", host(), "127.0.0.1", "Address to listen on."),
  port: row("Server", integer(0, 65_535), 8080, "Port to listen on; 0 takes a free one."),
  dataDir: row("Server", text("dir"), "./data", "Where Nightshift keeps what it stores."),
  keepAliveTimeout: row(
    "Server",
    seconds(1, 3600),
    75,
    "How long an idle client connection is kept; a load balancer's own time should be shorter.",
  ),
  shutdownDelay: row(
    "Server",
    seconds(0, 3600),
    0,
    "How long all is served after SIGTERM while /ready is 503, for load balancers that look at it.",
  ),
  shutdownGrace: row(
    "Server",
    seconds(0, 3600),
    30,
    "How long running requests may go on after SIGTERM and the delay.",
  ),

  model: row(
    "Models",
    models(),
    [],
    "A model to serve: a GGUF file, hf:owner/repo:Q4_K_M or an https URL; name= before it names it, +adapter.gguf@0.8 " +
      "after it puts a LoRA adapter on it. Repeatable.",
    "the bundled demo model, as `demo`",
  ),
  alias: row<Record<string, string>>(
    "Models",
    byName("alias=model", "alias=model, such as gpt-4o=demo; in the file a map", z.string().min(1).max(256)),
    {},
    "A further name that clients may ask for a model by; answers carry the model's own. Repeatable.",
    "none",
  ),
  unknownModel: row(
    "Models",
    choice(["refuse", "first"]),
    "refuse",
    "What a request gets for a model that is not served: a 404, or the first model.",
  ),
  modelsDir: row(
    "Models",
    optional(text("dir")),
    null,
    "Where downloaded models are kept.",
    "`models` in the data directory",
  ),
  offline: row(
    "Models",
    choice(["on", "off"]),
    "off",
    "Whether remote models come from earlier downloads alone, without network access.",
  ),
  downloadRate: row(
    "Models",
    optional(size(_KiB, 1024 * _GiB)),
    null,
    "Most bytes a second that a download receives, such as 20MiB; downloads run one after the other.",
    "no bound",
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

  ...ENGINE_OPTIONS,

  ...LIMIT_OPTIONS,

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
      "tokens cost at each batch size, `nightshift usage` and /v1/organization/costs what they did cost.",
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

  webhooks: row("Webhooks", webhooks(), [], "Where the ends of batches are sent.", "none"),
  webhookAllowPrivate: row(
    "Webhooks",
    choice(["on", "off"]),
    "off",
    "Send webhooks also to this machine and private networks, and there over http too.",
  ),

  apiKeys: row(
    "Access",
    optional(choice(["on", "off"])),
    null,
    "Ask every client for an API key; off is possible on loopback alone.",
    "off on loopback, unless there is a `NIGHTSHIFT_ADMIN_KEY`; on elsewhere",
  ),
  adminKey: row(
    "Access",
    optional(hiddenSecret(20)),
    null,
    "An API key that may do everything, and is not stored. In the environment alone, where command lines do not show it.",
    "the first start with keys on makes an administrator's key, and prints it once",
  ),
  trustedProxy: row(
    "Access",
    networks(),
    [],
    "The address or network (10.0.0.0/8) of a proxy whose X-Forwarded-For tells the client's address. Repeatable.",
    "none",
  ),
  metricsToken: row(
    "Access",
    optional(secret(1, "token")),
    null,
    "Bearer token that /metrics asks for.",
    "none: /metrics is open on loopback and closed elsewhere",
  ),
  corsOrigin: row(
    "Access",
    origins(),
    [],
    "A web origin (https://app.example) whose pages may call the API, or * for all. Repeatable.",
    "none",
  ),
  allowedHost: row(
    "Access",
    hostNames(),
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
