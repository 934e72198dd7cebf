import { readSamples, type Sample } from "./prometheus-text.ts";

/** Engines whose metrics are known, by their own names. */
export const METRIC_KINDS = ["vllm", "sglang", "llama-server", "tgi", "trtllm", "triton", "nightshift"] as const;
export type MetricKind = (typeof METRIC_KINDS)[number];

/** A replica's load as its engine tells it; null for a number that the engine does not tell, which is not 0. */
export interface ReportedLoad {
  /** Requests that it computes. */
  running: number | null;
  /** Requests in its queue. */
  waiting: number | null;
  /** Share of the KV cache in use, 0 to 1. */
  kvUsed: number | null;
  /** Tokens generated since its start. */
  generatedTokens: number | null;
}

/** A series: its name, and the label that it must have. */
type Series = string | { name: string; label: readonly [string, string] };

type SeriesTable = Readonly<Record<keyof ReportedLoad, readonly Series[]>>;

const scheduled = { name: "nv_trt_llm_request_metrics", label: ["request_type", "scheduled"] } as const;
const waiting = { name: "nv_trt_llm_request_metrics", label: ["request_type", "waiting"] } as const;
const fraction = { name: "nv_trt_llm_kv_cache_block_metrics", label: ["kv_cache_block_type", "fraction"] } as const;

/** Names by engine, the present ones first: the first name that a scrape has is read. */
const SERIES: Readonly<Record<MetricKind, SeriesTable>> = {
  // Ray writes `_` for `:`. Before 1.0 the cache's name had `gpu`.
  vllm: {
    running: ["vllm:num_requests_running", "vllm_num_requests_running", "ray_vllm_num_requests_running"],
    waiting: ["vllm:num_requests_waiting", "vllm_num_requests_waiting", "ray_vllm_num_requests_waiting"],
    kvUsed: [
      ...["vllm:kv_cache_usage_perc", "vllm_kv_cache_usage_perc", "ray_vllm_kv_cache_usage_perc"],
      ...["vllm:gpu_cache_usage_perc", "vllm_gpu_cache_usage_perc", "ray_vllm_gpu_cache_usage_perc"],
    ],
    generatedTokens: ["vllm:generation_tokens_total", "vllm_generation_tokens_total"],
  },
  // `_` from 0.5.4 on.
  sglang: {
    running: ["sglang_num_running_reqs", "sglang:num_running_reqs"],
    waiting: ["sglang_num_queue_reqs", "sglang:num_queue_reqs"],
    kvUsed: ["sglang_token_usage", "sglang:token_usage"],
    generatedTokens: ["sglang_generation_tokens_total", "sglang:generation_tokens_total"],
  },
  "llama-server": {
    running: ["llamacpp:requests_processing"],
    waiting: ["llamacpp:requests_deferred"],
    kvUsed: ["llamacpp:kv_cache_usage_ratio"],
    generatedTokens: ["llamacpp:tokens_predicted_total"],
  },
  tgi: {
    running: ["tgi_batch_current_size"],
    waiting: ["tgi_queue_size"],
    kvUsed: [],
    generatedTokens: ["tgi_request_generated_tokens_sum"],
  },
  trtllm: {
    running: ["trtllm_num_requests_running", "trtllm:num_requests_running"],
    waiting: ["trtllm_num_requests_waiting", "trtllm:num_requests_waiting"],
    kvUsed: ["trtllm_kv_cache_utilization", "trtllm:kv_cache_utilization"],
    generatedTokens: ["trtllm_generation_tokens_total", "trtllm_generation_tokens"],
  },
  triton: { running: [scheduled], waiting: [waiting], kvUsed: [fraction], generatedTokens: [] },
  nightshift: {
    running: ["nightshift_requests_running"],
    waiting: ["nightshift_requests_waiting"],
    kvUsed: ["nightshift_kv_cache_usage_ratio"],
    generatedTokens: ["nightshift_generation_tokens_total"],
  },
};

/** Labels that name the model: engines' own, and Nightshift's. */
const MODEL_LABELS = ["model_name", "model"];

/**
 * The load in a scrape of `/metrics`. Several series of a name (data parallelism) are added up, shares averaged. Series of
 * another model do not count; series without a model's name do.
 * @param models names of the model at the upstream: its id, and the one it was loaded from
 */
export function readLoad(kind: MetricKind, text: string, models: readonly string[]): ReportedLoad {
  const table = SERIES[kind];
  const names = new Set(Object.values(table).flatMap((series) => series.map(nameOf)));
  const samples = readSamples(text, names).filter((sample) => isOf(sample, models));
  const values = (of: keyof ReportedLoad) => valuesOf(table[of], samples);
  return {
    running: sum(values("running")),
    waiting: sum(values("waiting")),
    kvUsed: share(values("kvUsed")),
    generatedTokens: sum(values("generatedTokens")),
  };
}

/** The engine that writes such metrics; null where none of the known ones does. */
export function metricKindOf(text: string): MetricKind | null {
  const running = new Map(METRIC_KINDS.flatMap((kind) => SERIES[kind].running.map((one) => [nameOf(one), kind])));
  const [first] = readSamples(text, new Set(running.keys()));
  return first === undefined ? null : running.get(first.name)!;
}

function nameOf(series: Series): string {
  return typeof series === "string" ? series : series.name;
}

function isOf({ labels }: Sample, models: readonly string[]): boolean {
  const label = MODEL_LABELS.find((name) => labels[name] !== undefined);
  return label === undefined || models.includes(labels[label]!);
}

/** The values of the first series that is there; none where no one is. Counts are never negative. */
function valuesOf(all: readonly Series[], samples: readonly Sample[]): number[] {
  for (const series of all) {
    const own = samples.filter((sample) => isSampleOf(sample, series) && sample.value >= 0);
    if (own.length > 0) return own.map(({ value }) => value);
  }
  return [];
}

function isSampleOf({ name, labels }: Sample, series: Series): boolean {
  if (typeof series === "string") return name === series;
  const [label, value] = series.label;
  return name === series.name && labels[label] === value;
}

function sum(values: readonly number[]): number | null {
  return values.length === 0 ? null : values.reduce((total, value) => total + value, 0);
}

/** The mean; engines that write per cent where the name says a share are none of the known ones. */
function share(values: readonly number[]): number | null {
  const total = sum(values);
  return total === null ? null : Math.min(1, total / values.length);
}
