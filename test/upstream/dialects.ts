import {
  BASE,
  counted,
  type Dialect,
  model,
  openaiError,
  series,
  sglangError,
  type UpstreamKind,
  vllmError,
} from "./dialect.ts";

/** Each engine where it differs from most. */
export const DIALECTS: Readonly<Record<UpstreamKind, Dialect>> = {
  vllm: {
    ...BASE,
    model: model("vllm", ({ id, context }) => ({ root: id, parent: null, max_model_len: context, permission: [] })),
    info: () => ({ "/version": { version: "0.14.0" }, "/ping": {} }),
    metrics: {
      path: "/metrics",
      text: (id, { running, waiting, kvUsed, generatedTokens }) =>
        series(
          {
            "vllm:num_requests_running": running,
            "vllm:num_requests_waiting": waiting,
            "vllm:kv_cache_usage_perc": kvUsed,
            "vllm:generation_tokens_total": generatedTokens,
          },
          `{engine="0",model_name="${id}"}`,
        ),
    },
    reasoning: "reasoning",
    chunk: { system_fingerprint: null },
    anyModel: false,
    error: vllmError,
    overloaded: { status: 503, body: vllmError(503, "Too many queued requests"), inStream: false },
    tokenize: { path: "/tokenize", answer: (...of) => ({ ...counted(...of), token_strs: null }) },
    rerank: "/v1/rerank",
  },
  sglang: {
    ...BASE,
    model: model("sglang", ({ id, context }) => ({ root: id, parent: null, max_model_len: context })),
    info: ({ id }) => ({
      "/model_info": { model_path: id, is_generation: true },
      "/get_model_info": { model_path: id },
    }),
    metrics: {
      path: "/metrics",
      text: (id, { running, waiting, kvUsed, generatedTokens }) =>
        series(
          {
            "sglang:num_running_reqs": running,
            "sglang:num_queue_reqs": waiting,
            "sglang:token_usage": kvUsed,
            "sglang:generation_tokens_total": generatedTokens,
          },
          `{model_name="${id}"}`,
        ),
    },
    // Absent fields are written as null.
    delta: { role: null, content: null, reasoning_content: null, tool_calls: null },
    error: sglangError,
    overloaded: {
      status: 503,
      body: { error: { message: "The request queue is full.", type: "ServiceUnavailable" }, code: 503 },
      inStream: true,
    },
    tokenize: { path: "/tokenize", answer: counted },
    rerank: "/v1/rerank",
  },
  "llama-server": {
    ...BASE,
    model: model("llamacpp", ({ context }) => ({ meta: { n_vocab: 1000, n_ctx: context, n_ctx_train: context * 8 } })),
    info: ({ context, id }, slots) => ({
      "/props": {
        default_generation_settings: { n_ctx: context },
        total_slots: slots,
        model_path: id,
        is_sleeping: false,
      },
    }),
    metrics: {
      path: "/metrics",
      text: (_, { running, waiting, generatedTokens }) =>
        series({
          "llamacpp:requests_processing": running,
          "llamacpp:requests_deferred": waiting,
          "llamacpp:tokens_predicted_total": generatedTokens,
        }),
    },
    usageByChoice: true,
    chunk: { system_fingerprint: "b7000-0" },
    lastChunk: (promptTokens, completionTokens) => ({
      timings: { cache_n: 0, prompt_n: promptTokens, predicted_n: completionTokens, predicted_per_second: 100 },
    }),
    error: (status, message) => ({
      error: { code: status, message, type: status === 503 ? "unavailable_error" : "invalid_request_error" },
    }),
    tooLong: (tokens, context) => `request (${tokens} tokens) exceeds the available context size (${context} tokens)`,
    tokenize: { path: "/tokenize", answer: (tokens) => ({ tokens }) },
    rerank: "/v1/rerank",
  },
  tgi: {
    ...BASE,
    model: model("tgi", () => ({})),
    info: ({ id, context }) => ({ "/info": { model_id: id, max_total_tokens: context, max_concurrent_requests: 128 } }),
    metrics: {
      path: "/metrics",
      text: (_, { running, waiting, generatedTokens }) =>
        series({
          tgi_batch_current_size: running,
          tgi_queue_size: waiting,
          tgi_request_generated_tokens_sum: generatedTokens,
        }),
    },
    reasoning: null,
    delta: { role: "assistant" },
    usageDetails: () => ({}),
    error: (status, message) => ({ error: message, error_type: status === 429 ? "overloaded" : "validation" }),
    overloaded: { status: 429, body: { error: "Model is overloaded", error_type: "overloaded" }, inStream: false },
    tokenize: {
      path: "/tokenize",
      answer: (tokens, words) => tokens.map((id, at) => ({ id, text: words[at], start: 0, stop: words[at]!.length })),
    },
  },
  trtllm: {
    ...BASE,
    model: model("tensorrt_llm", () => ({})),
    info: () => ({ "/version": { version: "1.2.0" }, "/metrics": [{ iter: 1, numActiveRequests: 0 }] }),
    metrics: {
      path: "/prometheus/metrics",
      text: (id, { running, waiting, kvUsed, generatedTokens }) =>
        series(
          {
            trtllm_num_requests_running: running,
            trtllm_num_requests_waiting: waiting,
            trtllm_kv_cache_utilization: kvUsed,
            trtllm_generation_tokens_total: generatedTokens,
          },
          `{model_name="${id}"}`,
        ),
    },
    usageDetails: () => ({}),
    error: (status, message) => ({ object: "error", message, type: "BadRequestError", param: null, code: status }),
  },
  hosted: {
    ...BASE,
    health: null,
    model: model("provider", () => ({})),
    reasoning: null,
    chunk: { service_tier: "default", system_fingerprint: "fp_1" },
    nullUsage: true,
    usageDetails: (cached, reasoning) => ({
      prompt_tokens_details: { cached_tokens: cached ?? 0, audio_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: reasoning, audio_tokens: 0 },
    }),
    anyModel: false,
    unknownFields: ["priority", "cache_salt", "top_k", "min_p", "repetition_penalty", "grammar", "ignore_eos"],
    overloaded: {
      status: 429,
      body: openaiError(429, "Rate limit reached for requests.", "rate_limit_exceeded"),
      inStream: false,
    },
  },
  nightshift: {
    ...BASE,
    model: model("nightshift", ({ context }) => ({ nightshift: { alias_of: null, state: "ready", context } })),
    metrics: {
      path: "/metrics",
      text: (id, { running, waiting, kvUsed, generatedTokens }) =>
        series(
          {
            nightshift_requests_running: running,
            nightshift_requests_waiting: waiting,
            nightshift_kv_cache_usage_ratio: kvUsed,
            nightshift_generation_tokens_total: generatedTokens,
          },
          `{model="${id}"}`,
        ),
    },
    chunk: { service_tier: "default", system_fingerprint: "fp_1" },
    nullUsage: true,
    usageDetails: (cached, reasoning) => ({
      prompt_tokens_details: { cached_tokens: cached ?? 0 },
      completion_tokens_details: { reasoning_tokens: reasoning },
    }),
    anyModel: false,
    overloaded: {
      status: 503,
      body: openaiError(503, "Too many requests wait.", "server_is_overloaded"),
      inStream: false,
    },
    tokenize: { path: "/tokenize", answer: counted },
    rerank: "/v1/rerank",
  },
};
