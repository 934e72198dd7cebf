import type { CacheScope } from "../../protocol/config.ts";
import type { PriorityStyle } from "./priority.ts";

export const UPSTREAM_KINDS = [
  "vllm",
  "sglang",
  "llama-server",
  "tgi",
  "trtllm",
  "triton",
  "ray",
  "kserve",
  "dynamo",
  "llm-d",
  "openai",
  "nightshift",
] as const;
/** The engines whose dialects of OpenAI's API are known; `openai` is any other, hosted APIs among them. */
export type UpstreamKind = (typeof UPSTREAM_KINDS)[number];

/** One address of an upstream. */
export interface ReplicaConfig {
  /** Base URL, such as `http://gpu-1:8000/v1`, without a slash at its end. */
  url: string;
  /** Its part of the load, relative to those of the others. */
  weight: number;
}

/** The settings of one upstream: an engine, or a cluster of its own behind one address. */
export interface UpstreamConfig {
  /** Names it in metrics, logs and errors. */
  name: string;
  /** Null: read from its list of models. */
  kind: UpstreamKind | null;
  /** Each serves every model of the upstream. */
  replicas: readonly ReplicaConfig[];
  /** Ids of its models by the name that this server gives them; null serves all that it lists, under their own ids. */
  models: Readonly<Record<string, string>> | null;
  /** Sent as a bearer token; null for none. Never part of a log, an error or the database. */
  apiKey: string | null;
  /** The way in which it takes priorities. */
  priority: PriorityStyle;
  /** The longest request in tokens where the upstream does not say; null takes DEFAULT_CONTEXT. */
  context: number | null;
  /** True: clients get the texts of its errors about their requests. */
  trusted: boolean;
  /** The objectives of online work in milliseconds; auto takes what the online requests of each replica show by themselves. */
  sloTtftMs: number | "auto";
  sloItlMs: number;
  timeouts: UpstreamTimeouts;
  rate: RateConfig;
  /** True: a request of tier priority that shows nothing for long is sent to a second replica too. */
  hedge: boolean;
  /** `owner`: no owner uses a prefix that another one had computed, where the upstream can tell them apart. */
  cacheScope: CacheScope;
}

/** What an upstream takes per minute; null for no cap. */
export interface RateConfig {
  requestsPerMinute: number | null;
  tokensPerMinute: number | null;
}

export const NO_CAPS: RateConfig = { requestsPerMinute: null, tokensPerMinute: null };

/** In milliseconds. */
export interface UpstreamTimeouts {
  connect: number;
  /** From the request to the first event of its answer. */
  firstEvent: number;
  /** Between two events of an answer; nobody reads a batch line meanwhile. */
  silence: number;
  batchSilence: number;
}

export const DEFAULT_TIMEOUTS: UpstreamTimeouts = {
  connect: 2000,
  firstEvent: 600_000,
  silence: 60_000,
  batchSilence: 540_000,
};

/** Tokens of the longest request to an upstream that names no bound. */
export const DEFAULT_CONTEXT = 131_072;
