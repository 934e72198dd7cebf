import { DEFAULT_SHIFT } from "../../batch/shift/shift-rules.ts";
import { DEFAULT_PRICES, DEFAULT_TIER_FACTORS, type ModelPrice, type TierFactors } from "../../ledger/prices.ts";
import { ENGINE_OPTIONS } from "./engine-options.ts";
import { hiddenSecret, host, hostNames, networks, origins, secret } from "./kinds/access-kind.ts";
import { seconds } from "./kinds/duration-kind.ts";
import { choice, integer, optional, sizeText, text, usd } from "./kinds/kind.ts";
import { prices, tierFactors } from "./kinds/price-kind.ts";
import { shift } from "./kinds/shift-kind.ts";
import { webhooks } from "./kinds/webhooks-kind.ts";
import { LIMIT_OPTIONS } from "./limit-options.ts";
import { MODEL_OPTIONS } from "./model-options.ts";
import { type Option, row } from "./option.ts";

const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;

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

  ...MODEL_OPTIONS,

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
