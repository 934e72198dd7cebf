import { z } from "zod";
import { DEFAULT_SHIFT } from "../../batch/shift/shift-rules.ts";
import { USUAL_CONTEXT } from "../../engine/protocol/config.ts";
import { TOOL_FORMAT_NAMES } from "../../engine/tools/format-list.ts";
import { DEFAULT_PRICES, DEFAULT_TIER_FACTORS, type ModelPrice, type TierFactors } from "../../ledger/prices.ts";
import { ENGINE_OPTIONS } from "./engine-options.ts";
import { hiddenSecret, host, hostNames, networks, origins, secret } from "./kinds/access-kind.ts";
import { chatTemplates, type TemplateSetting } from "./kinds/chat-template-kind.ts";
import { keeping, seconds } from "./kinds/duration-kind.ts";
import { byName, choice, integer, models, optional, size, sizeText, text, usd } from "./kinds/kind.ts";
import { prices, tierFactors } from "./kinds/price-kind.ts";
import { type RouteSettings, routes } from "./kinds/route-kind.ts";
import { shift } from "./kinds/shift-kind.ts";
import { toolFormats } from "./kinds/tool-format-kind.ts";
import { type UpstreamSetting, upstreams } from "./kinds/upstream-kind.ts";
import { webhooks } from "./kinds/webhooks-kind.ts";
import { LIMIT_OPTIONS } from "./limit-options.ts";
import { type Option, row } from "./option.ts";

const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;

const KiB = 2 ** 10;
const GiB = 2 ** 30;

/**
 * Every option, and the only place of its default. Flags, environment, configuration file, `--help` and docs/options.md
 * come from this table. Rules between options are in rules.ts.
 */
export const OPTIONS = {
  host: row("Server", host(), "127.0.0.1", "Address to listen on."),
  port: row("Server", integer(0, 65_535), 8080, "Port to listen on; 0 takes any free port."),
  uds: row(
    "Server",
    optional(text("path")),
    null,
    "Unix socket to listen on in place of --host and --port, for a proxy on this machine. Its user and group may connect, " +
      "and X-Forwarded-For is trusted.",
    "none",
  ),
  dataDir: row("Server", text("dir"), "./data", "Directory of the database, files and downloaded models."),
  keepAliveTimeout: row(
    "Server",
    seconds(1, 3600),
    75,
    "How long an idle client connection stays open. A load balancer in front needs a shorter time.",
  ),
  shutdownDelay: row(
    "Server",
    seconds(0, 3600),
    0,
    "Time between SIGTERM and the drain: /ready answers 503 so that load balancers route elsewhere, and requests are still served.",
  ),
  shutdownGrace: row(
    "Server",
    seconds(0, 3600),
    30,
    "Time that running requests have to finish after SIGTERM and --shutdown-delay.",
  ),

  model: row(
    "Models",
    models(),
    [],
    "A model to serve: a GGUF file, hf:owner/repo:Q4_K_M or an https URL. A prefix name= sets its name; a suffix " +
      "+adapter.gguf@0.8 adds a LoRA adapter with that scale. Repeatable.",
    "the bundled demo model, as `demo`, where there is no upstream",
  ),
  upstream: row<UpstreamSetting[]>(
    "Models",
    upstreams(),
    [],
    "An OpenAI-compatible engine whose models are served too, such as gpu=http://gpu-1:8000/v1: vLLM, SGLang, llama-server, a " +
      "hosted API, another Nightshift. The file sets its replicas, API key and more (docs/upstreams.md). Repeatable.",
    "none",
  ),
  alias: row<Record<string, string>>(
    "Models",
    byName(
      "alias=model",
      "alias=model, such as gpt-4o=demo or claude-*=demo; in the file a map",
      z.string().min(1).max(256),
    ),
    {},
    "An additional name of a model, in requests; with * at its end, every name that begins so. Responses have the model's own " +
      "name. Repeatable.",
    "none",
  ),
  routes: row<RouteSettings>(
    "Models",
    routes(),
    {},
    "Names that stand for several models: rules, cost or load choose one for each request (docs/routes.md).",
    "none",
  ),
  unknownModel: row(
    "Models",
    choice(["refuse", "first"]),
    "refuse",
    "Answer to a request for a model that is not served: refuse is a 404, first uses the first model.",
  ),
  modelsDir: row(
    "Models",
    optional(text("dir")),
    null,
    "Directory of downloaded models.",
    "`models` in the data directory",
  ),
  serveModelsDir: row(
    "Models",
    choice(["on", "off"]),
    "off",
    "on: also serve the GGUF files in the directory of downloaded models, each by its file name without .gguf, loaded on its " +
      "first request. Files that are added are found by a request for them, and at SIGHUP. Needs --keep-alive.",
  ),
  offline: row(
    "Models",
    choice(["on", "off"]),
    "off",
    "on: use remote models only from earlier downloads, without network access.",
  ),
  downloadRate: row(
    "Models",
    optional(size(KiB, 1024 * GiB)),
    null,
    "Maximum download rate in bytes per second, such as 20MiB. Downloads run one at a time.",
    "no limit",
  ),
  context: row(
    "Models",
    optional(integer(16, 4_194_304, "tokens")),
    null,
    "Maximum tokens of one request, prompt and output together.",
    `what the model was trained for, as far as memory allows; at most ${USUAL_CONTEXT.toLocaleString("en-US")} on a CPU, 32,768 on a ` +
      "GPU, where each sequence has cells of its own",
  ),
  keepAlive: row(
    "Models",
    keeping(),
    null,
    "How long a model stays in memory after its last request. With any value but forever, models are loaded on their " +
      "first request instead of at start.",
    "forever: all models are loaded at start and stay",
  ),
  sequences: row("Models", integer(1, 256), 32, "Maximum sequences that run at the same time, for each model."),

  toolFormat: row<Record<string, string>>(
    "Models",
    toolFormats(),
    {},
    `Format of a model's tool calls, for chat templates that do not define one: ${TOOL_FORMAT_NAMES.join(", ")}. Repeatable.`,
    "detected from the chat template",
  ),
  chatTemplate: row<TemplateSetting[]>(
    "Models",
    chatTemplates(),
    [],
    "A file with a chat template in Jinja, which replaces the one in the model's file. Several models need model=file. " +
      "Repeatable.",
    "the template in the model's file",
  ),

  ...ENGINE_OPTIONS,

  ...LIMIT_OPTIONS,

  prices: row<Record<string, ModelPrice>>(
    "Money",
    prices(),
    {},
    "Price of a model's tokens in USD per million: input, cached input, output. Repeatable.",
    `${Object.entries(DEFAULT_PRICES).map(priceText).join(", ")}; a model without a price is free`,
  ),
  tierFactors: row<Partial<TierFactors>>(
    "Money",
    tierFactors(),
    {},
    "Factor on the prices of a tier. Repeatable.",
    Object.entries(DEFAULT_TIER_FACTORS)
      .map(([tier, factor]) => `${tier}=${factor}`)
      .join(", "),
  ),

  machineUsdPerHour: row(
    "Money",
    optional(usd(1_000_000)),
    null,
    "Cost of this machine in USD per hour. `nightshift plan` and /v1/nightshift/engine then show the cost of a million " +
      "tokens at each batch size; `nightshift usage` and /v1/organization/costs show the cost of the tokens that were used.",
    "none",
  ),
  machineSpotUsdPerHour: row(
    "Money",
    optional(usd(1_000_000)),
    null,
    "Cost of the same machine as a spot instance, in USD per hour.",
    "none",
  ),

  shift: row(
    "Batches",
    shift(),
    DEFAULT_SHIFT,
    "When batch work runs: always, idle (while online load is low), night (in time windows) or off.",
    "always",
  ),
  batchWindow: row("Batches", seconds(60, 2_592_000), 86_400, "Time from a batch's creation until it expires."),
  batchLineTimeout: row(
    "Batches",
    seconds(1, 86_400),
    3600,
    "Timeout of one batch line, from its start in the engine.",
  ),

  webhooks: row(
    "Webhooks",
    webhooks(),
    [],
    "Endpoints that get an event when a batch ends or a budget runs low.",
    "none",
  ),
  webhookAllowPrivate: row(
    "Webhooks",
    choice(["on", "off"]),
    "off",
    "on: allow webhooks to this machine and to private networks, also over http.",
  ),

  apiKeys: row(
    "Access",
    optional(choice(["on", "off"])),
    null,
    "on: require an API key from every client. off is allowed only on loopback.",
    "off on loopback without a `NIGHTSHIFT_ADMIN_KEY`, else on",
  ),
  adminKey: row(
    "Access",
    optional(hiddenSecret(20)),
    null,
    "An API key with all scopes, which is not stored. Set only by the environment, because command lines are visible.",
    "the first start with API keys on creates an administrator's key and prints it once",
  ),
  trustedProxy: row(
    "Access",
    networks(),
    [],
    "Address or network (10.0.0.0/8) of a proxy whose X-Forwarded-For header is trusted. Repeatable.",
    "none",
  ),
  metricsToken: row(
    "Access",
    optional(secret(1, "token")),
    null,
    "Bearer token that GET /metrics requires.",
    "none: /metrics is open on loopback and closed elsewhere",
  ),
  ollama: row(
    "Access",
    optional(choice(["on", "off"])),
    null,
    "on: serve the native API of Ollama, at /api/chat and beside it, to clients that speak only that.",
    "on on loopback, else off",
  ),
  corsOrigin: row(
    "Access",
    origins(),
    [],
    "Web origin (https://app.example) whose pages may call the API; * allows all. Repeatable.",
    "none",
  ),
  allowedHost: row(
    "Access",
    hostNames(),
    [],
    "Host name without a port that is accepted in addition to the loopback names. Repeatable.",
    "none",
  ),

  logLevel: row(
    "Logs",
    choice(LOG_LEVELS, "level"),
    "info",
    `Minimum severity of log lines: ${LOG_LEVELS.join(", ")}.`,
  ),
  logFormat: row(
    "Logs",
    choice(["auto", "json", "pretty"]),
    "auto",
    "Format of log lines; auto is pretty on a terminal, else json.",
  ),
};

export type OptionKey = keyof typeof OPTIONS;
export type Options = { [K in OptionKey]: (typeof OPTIONS)[K] extends Option<infer T> ? T : never };

export const OPTION_KEYS = Object.keys(OPTIONS) as OptionKey[];

/** The default, in the form of `--help` and docs/options.md. */
export function fallbackText(key: OptionKey): string {
  const { default: value, defaultText, kind }: Option<unknown> = OPTIONS[key];
  if (defaultText !== undefined) return defaultText;
  return kind.metavar === "size" && typeof value === "number" ? sizeText(value) : String(value);
}

function priceText([model, { input, cachedInput, output }]: [string, ModelPrice]): string {
  return `${model}=${[input, cachedInput, output].map((usd) => usd.toFixed(2)).join("/")}`;
}
