import { z } from "zod";
import { PRIORITY_STYLES, type PriorityStyle } from "../../../engine/upstream/dialect/priority.ts";
import {
  DEFAULT_TIMEOUTS,
  NO_CAPS,
  type RateConfig,
  type ReplicaConfig,
  UPSTREAM_KINDS,
  type UpstreamKind,
  type UpstreamTimeouts,
} from "../../../engine/upstream/dialect/upstream-config.ts";
import { seconds } from "./duration-kind.ts";
import type { Kind } from "./kind.ts";

/** One upstream as the options set it. */
export interface UpstreamSetting {
  name: string;
  replicas: ReplicaConfig[];
  kind: UpstreamKind | null;
  /** Ids at the upstream by the names that are served; null serves all that it lists. */
  models: Record<string, string> | null;
  /** The environment variable, or the file, with its API key; at most one is set. */
  apiKeyEnv: string | null;
  apiKeyFile: string | null;
  priority: PriorityStyle;
  context: number | null;
  trusted: boolean;
  timeouts: UpstreamTimeouts;
  rate: RateConfig;
  hedge: boolean;
}

const MOST_REPLICAS = 64;
const MOST_UPSTREAMS = 32;
const LEAST_WEIGHT = 0.01;
const MOST_WEIGHT = 100;
const MOST_PER_MINUTE = 1_000_000_000;

const name = z
  .string()
  .trim()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, "is not a name of letters, digits, '.', '_' and '-'");

const url = z
  .string()
  .trim()
  .max(2048)
  .superRefine((text, context) => {
    const problem = urlProblem(text);
    if (problem !== null) context.addIssue({ code: "custom", message: problem });
  })
  .transform((text) => (URL.canParse(text) ? baseUrl(new URL(text)) : text));

const replica = z.preprocess(
  (value) => (typeof value === "string" ? { url: value } : value),
  z.strictObject({ url, weight: z.number().min(LEAST_WEIGHT).max(MOST_WEIGHT).default(1) }),
);

const addresses = z.preprocess(
  (value) => (typeof value === "string" ? [value] : value),
  z.array(replica).min(1).max(MOST_REPLICAS),
);

/** Seconds or a duration; the setting has milliseconds. */
function timeout(most: number, defaultMs: number) {
  const { schema, allowed } = seconds(0.1, most);
  const refused = { error: `must be ${allowed}` };
  return z
    .preprocess((value) => schema.safeParse(value).data, z.number(refused))
    .transform((value) => Math.round(value * 1000))
    .prefault(defaultMs / 1000);
}

const timeouts = z
  .strictObject({
    connect: timeout(60, DEFAULT_TIMEOUTS.connect),
    firstEvent: timeout(3600, DEFAULT_TIMEOUTS.firstEvent),
    silence: timeout(3600, DEFAULT_TIMEOUTS.silence),
    batchSilence: timeout(3600, DEFAULT_TIMEOUTS.batchSilence),
  })
  .prefault({});

const perMinute = z.number().int().min(1).max(MOST_PER_MINUTE).nullable().default(null);

const settings = z
  .strictObject({
    url: addresses.optional(),
    replicas: addresses.optional(),
    kind: z
      .enum([...UPSTREAM_KINDS, "auto"])
      .transform((kind) => (kind === "auto" ? null : kind))
      .default(null),
    models: z
      .union([
        z.array(z.string().min(1).max(256)).transform((ids) => Object.fromEntries(ids.map((id) => [id, id]))),
        z.record(z.string().min(1).max(256), z.string().min(1).max(256)),
      ])
      .nullable()
      .default(null),
    apiKeyEnv: z.string().min(1).max(256).nullable().default(null),
    apiKeyFile: z.string().min(1).max(4096).nullable().default(null),
    priority: z.enum(PRIORITY_STYLES).default("none"),
    context: z.number().int().min(16).max(100_000_000).nullable().default(null),
    trusted: z.boolean().default(false),
    timeouts,
    rate: z
      .strictObject({ requestsPerMinute: perMinute, tokensPerMinute: perMinute })
      .refine(
        ({ requestsPerMinute, tokensPerMinute }) => requestsPerMinute !== null || tokensPerMinute !== null,
        "has neither requestsPerMinute nor tokensPerMinute",
      )
      .default(NO_CAPS),
    hedge: z.boolean().default(false),
  })
  .refine(
    ({ url, replicas }) => (url === undefined) !== (replicas === undefined),
    "has neither or both of url and replicas: set one of them",
  )
  .refine(
    ({ apiKeyEnv, apiKeyFile }) => apiKeyEnv === null || apiKeyFile === null,
    "has both apiKeyEnv and apiKeyFile: set one of them",
  )
  .transform(({ url, replicas, ...rest }) => ({ ...rest, replicas: replicas ?? url ?? [] }))
  .refine(({ replicas }) => new Set(replicas.map((one) => one.url)).size === replicas.length, "has a replica twice");

const plain = (address: string) => ({ url: address });

/** `name=url`. */
const written = z
  .string()
  .trim()
  .regex(/^[^=]+=.+$/)
  .transform((text): unknown => {
    const divider = text.indexOf("=");
    return { name: text.slice(0, divider), ...plain(text.slice(divider + 1)) };
  });

/** An error's path begins with the upstream's name. */
const named = z.looseObject({ name }).transform(({ name, ...rest }, context): UpstreamSetting => {
  return { name, ...orIssues(settings.safeParse(rest), context, [name]) };
});

const one = z.union([written, z.unknown()]).pipe(named);

/** In the file a list, or a map of names to URLs or to maps. */
const sources = z.union([
  z.string().transform((one): unknown[] => [one]),
  z.array(z.unknown()).max(MOST_UPSTREAMS),
  z.record(z.string(), z.unknown()).transform((map) =>
    Object.entries(map).map(([key, value]) => ({
      name: key,
      ...(typeof value === "string" || Array.isArray(value) ? { url: value } : Object(value)),
    })),
  ),
]);

/** Upstreams, whose models are served beside local ones. */
export function upstreams(): Kind<UpstreamSetting[]> {
  return {
    metavar: "name=url",
    allowed:
      "name=url, with an http or https URL such as http://gpu-1:8000/v1; in the file a map of names to URLs, or to maps of " +
      "url or replicas, kind, models, apiKeyEnv, apiKeyFile, priority, context, trusted, timeouts, rate and hedge",
    schema: sources
      .transform((list, context) => list.map((source) => orIssues(one.safeParse(source), context)))
      .refine((list) => new Set(list.map((one) => one.name)).size === list.length, "two have the same name"),
    list: true,
    nested: true,
  };
}

/** The value; its issues become those of the context, below the path. */
function orIssues<T>(result: z.ZodSafeParseResult<T>, context: z.RefinementCtx, below: PropertyKey[] = []): T {
  if (result.success) return result.data;
  for (const { message, path } of result.error.issues)
    context.addIssue({ code: "custom", message, path: [...below, ...path] });
  return z.NEVER;
}

function urlProblem(text: string): string | null {
  if (!URL.canParse(text)) return "is not a URL";
  const { protocol, username, password, search, hash } = new URL(text);
  if (protocol !== "http:" && protocol !== "https:") return "is not an http or https URL";
  if (username !== "" || password !== "") return "has a user or password: set apiKeyEnv or apiKeyFile";
  return search === "" && hash === "" ? null : "has a query or a fragment";
}

/** A bare host gets OpenAI's path. */
function baseUrl({ origin, pathname }: URL): string {
  const path = pathname.replace(/\/+$/, "");
  return `${origin}${path === "" ? "/v1" : path}`;
}
