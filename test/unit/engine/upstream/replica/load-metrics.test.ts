import { describe, expect, it, test } from "vitest";
import {
  type MetricKind,
  metricKindOf,
  type ReportedLoad,
  readLoad,
} from "../../../../../engine/upstream/replica/load-metrics.ts";

const UNKNOWN: ReportedLoad = { running: null, waiting: null, kvUsed: null, generatedTokens: null };

/** A scrape of each engine in its own names, of the model "m", and what it tells. */
const SCRAPES: readonly [string, MetricKind, string, Partial<ReportedLoad>][] = [
  [
    "vLLM",
    "vllm",
    `# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="m"} 5.0
vllm:num_requests_waiting{engine="0",model_name="m"} 2.0
vllm:num_requests_waiting_by_reason{engine="0",model_name="m",reason="capacity"} 2.0
vllm:kv_cache_usage_perc{engine="0",model_name="m"} 0.25
vllm:generation_tokens_total{engine="0",model_name="m"} 1.2345e+04`,
    { running: 5, waiting: 2, kvUsed: 0.25, generatedTokens: 12_345 },
  ],
  [
    "vLLM 0.x",
    "vllm",
    'vllm:num_requests_running{model_name="m"} 1\nvllm:gpu_cache_usage_perc{model_name="m"} 0.5',
    { running: 1, kvUsed: 0.5 },
  ],
  [
    "vLLM with both names of the cache",
    "vllm",
    "vllm:kv_cache_usage_perc 0.75\nvllm:gpu_cache_usage_perc 0",
    { kvUsed: 0.75 },
  ],
  [
    "SGLang",
    "sglang",
    `sglang:num_running_reqs{model_name="m"} 3.0
sglang:num_queue_reqs{model_name="m"} 4.0
sglang:token_usage{model_name="m"} 0.9
sglang:generation_tokens_total{model_name="m"} 100.0`,
    { running: 3, waiting: 4, kvUsed: 0.9, generatedTokens: 100 },
  ],
  [
    "SGLang from 0.5.4 on",
    "sglang",
    "sglang_num_running_reqs 3\nsglang_num_queue_reqs 0\nsglang_token_usage 0.9",
    { running: 3, waiting: 0, kvUsed: 0.9 },
  ],
  [
    "llama-server",
    "llama-server",
    "llamacpp:requests_processing 1\nllamacpp:requests_deferred 6\nllamacpp:tokens_predicted_total 77",
    { running: 1, waiting: 6, generatedTokens: 77 },
  ],
  [
    "TGI",
    "tgi",
    "tgi_batch_current_size 4\ntgi_queue_size 7\ntgi_request_generated_tokens_sum 8123",
    { running: 4, waiting: 7, generatedTokens: 8123 },
  ],
  [
    "trtllm-serve",
    "trtllm",
    'trtllm_num_requests_running{model_name="m"} 2\ntrtllm_num_requests_waiting 0\ntrtllm_kv_cache_utilization 0.1',
    { running: 2, waiting: 0, kvUsed: 0.1 },
  ],
  [
    "Triton",
    "triton",
    `nv_trt_llm_request_metrics{model="m",request_type="waiting",version="1"} 9
nv_trt_llm_request_metrics{model="m",request_type="scheduled",version="1"} 8
nv_trt_llm_request_metrics{model="m",request_type="max",version="1"} 512
nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="fraction",model="m"} 0.4
nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="max",model="m"} 6239`,
    { running: 8, waiting: 9, kvUsed: 0.4 },
  ],
  [
    "Nightshift",
    "nightshift",
    `nightshift_requests_running{model="m"} 1
nightshift_requests_waiting{model="m"} 2
nightshift_kv_cache_usage_ratio{model="m"} 0.3
nightshift_generation_tokens_total{model="m",endpoint="/v1/chat/completions",tier="batch"} 40
nightshift_generation_tokens_total{model="m",endpoint="/v1/completions",tier="default"} 2`,
    { running: 1, waiting: 2, kvUsed: 0.3, generatedTokens: 42 },
  ],
];

test.each(SCRAPES)("the load of %s", (_, kind, text, expected) => {
  expect(readLoad(kind, text, ["m"])).toEqual({ ...UNKNOWN, ...expected });
});

describe("the load", () => {
  it("adds counts of several series, and averages shares", () => {
    const text = `vllm:num_requests_running{engine="0",model_name="m"} 5
vllm:num_requests_running{engine="1",model_name="m"} 7
vllm:kv_cache_usage_perc{engine="0",model_name="m"} 0.2
vllm:kv_cache_usage_perc{engine="1",model_name="m"} 0.6`;
    expect(readLoad("vllm", text, ["m"])).toEqual({ ...UNKNOWN, running: 12, kvUsed: 0.4 });
  });

  it("leaves out other models, whichever label names them", () => {
    const text = `vllm:num_requests_running{model_name="m"} 5
vllm:num_requests_running{model_name="other"} 7
vllm:num_requests_waiting{model="other"} 7`;
    expect(readLoad("vllm", text, ["id", "m"])).toEqual({ ...UNKNOWN, running: 5 });
  });

  it("is unknown, and not 0, where names are absent or values are no counts", () => {
    expect(readLoad("vllm", "", ["m"])).toEqual(UNKNOWN);
    expect(readLoad("vllm", "vllm:num_requests_running NaN\nvllm:num_requests_waiting -1", ["m"])).toEqual(UNKNOWN);
    expect(readLoad("sglang", '{"numActiveRequests": 3}', ["m"])).toEqual(UNKNOWN);
  });
});

describe("the engine of a scrape", () => {
  it.each(SCRAPES.filter(([, , , { running }]) => running !== undefined))("is known for %s", (_, kind, text) => {
    expect(metricKindOf(text)).toBe(kind);
  });

  it("is null for others", () => {
    expect(metricKindOf('# TYPE up gauge\nup{job="vllm"} 1\n{"a": [1]}')).toBeNull();
  });
});
