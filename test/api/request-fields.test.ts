import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { user } from "./ask.ts";
import { failure } from "./failure.ts";
import { startServer, type TestServer } from "./server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

const FUNCTION = { name: "get_time", parameters: { type: "object", properties: {} } };

/** The SDK sends unknown fields and values unchanged. */
function chat(fields: Record<string, unknown>) {
  const body = { model: "demo", messages: [user("Hello!")], temperature: 0, max_tokens: 2 };
  return server.client.chat.completions.create({ ...body, ...fields, stream: false });
}

function completion(fields: Record<string, unknown>) {
  const body = { model: "demo", prompt: "Hello", temperature: 0, max_tokens: 2 };
  return server.client.completions.create({ ...body, ...fields, stream: false });
}

describe("accepted fields of a chat", () => {
  test.each<Record<string, unknown>>([
    { max_completion_tokens: 3 },
    { temperature: 0 },
    { temperature: 2 },
    { top_p: 0.5 },
    { n: 2 },
    { stop: "x" },
    { stop: ["a", "b", "c", "d"] },
    { stop: [] },
    { seed: 1 },
    { frequency_penalty: -2 },
    { presence_penalty: 2 },
    { logit_bias: { "5": -100 } },
    { logit_bias: {} },
    { user: "u" },
    { safety_identifier: "u" },
    { prompt_cache_key: "k" },
    { prediction: { type: "content", content: "Hello" } },
    {
      metadata: Object.fromEntries(
        Array.from({ length: 16 }, (_, i) => [`${"k".repeat(62)}${10 + i}`, "v".repeat(512)]),
      ),
    },
    { store: false },
    { store: true, metadata: { a: "b" } },
    { verbosity: "low" },
    { reasoning_effort: "low" },
    { service_tier: "auto" },
    { service_tier: "default" },
    { parallel_tool_calls: true },
    { response_format: { type: "text" } },
    { modalities: ["text"] },
    { logprobs: false },
    { tools: [] },
    { tool_choice: "none" },
    { top_k: 40 },
    { top_k: -1 },
    { min_p: 0.1 },
    { repetition_penalty: 1.1 },
    { repeat_penalty: 1.1, repeat_last_n: 32 },
    { mirostat: 2, mirostat_tau: 5, mirostat_eta: 0.1 },
    { typical_p: 0.9, top_n_sigma: 1, min_keep: 2 },
    {
      dry_multiplier: 0.8,
      dry_base: 1.75,
      dry_allowed_length: 2,
      dry_penalty_last_n: 64,
      dry_sequence_breakers: ["x"],
    },
    { xtc_probability: 0.5, xtc_threshold: 0.1, temperature: 1 },
    { dynatemp_range: 0.5, dynatemp_exponent: 1 },
    { samplers: ["top_k", "temperature"] },
    { samplers: "edskypmxt" },
    { ignore_eos: true },
    { min_tokens: 1 },
    { stop_token_ids: [5] },
    { a_field_that_nobody_knows: { deep: [1] } },
  ])("%j", async (fields) => {
    const { choices } = await chat(fields);
    expect(choices.length).toBe(fields.n ?? 1);
  });

  test.each([
    ["priority", "priority"],
    ["flex", "flex"],
    ["auto", "default"],
  ])("service_tier %s is served as %s, as the response says", async (asked, used) => {
    expect((await chat({ service_tier: asked })).service_tier).toBe(used);
  });
});

describe("refused fields of a chat", () => {
  test.each<[string, unknown]>([
    ["functions", [FUNCTION]],
    ["function_call", { name: "get_time" }],
    ["audio", { voice: "alloy", format: "wav" }],
    ["modalities", ["text", "audio"]],
    ["web_search_options", {}],
    ["chat_template", "{{ messages }}"],
    ["prompt_embeds", "AAAA"],
    ["cache_salt", "s"],
    ["guided_grammar", 'root ::= "a"'],
    ["n_predict", 8],
    ["guided_json", {}],
    ["structured_outputs", {}],
  ])("%s: %j", async (field, value) => {
    const error = await failure(chat({ [field]: value }));
    expect(error).toBeInstanceOf(OpenAI.BadRequestError);
    expect(error).toMatchObject({ type: "invalid_request_error", param: field });
    expect(error.code).toMatch(/^unsupported_(parameter|value)$/);
    expect(error.message).toContain(`'${field}'`);
    expect(error.message).toMatch(/not supported|supported yet|only .* supported/);
  });

  test.each(["image_url", "input_audio", "file"])("a content part of type %s", async (type) => {
    const part = { type, [type]: { url: "http://127.0.0.1:9/x.png" } };
    const error = await failure(chat({ messages: [{ role: "user", content: [part] }] }));
    expect(error).toMatchObject({ status: 400, code: "unsupported_value", param: "messages[0].content[0]" });
  });
});

describe("fields that were accepted and not used are named in a header", () => {
  const ignored = async (path: string, body: object) => {
    const { response } = await server.client.post(path, { body: { model: "demo", ...body } }).withResponse();
    return response.headers.get("x-nightshift-ignored");
  };
  const CHAT = { messages: [user("Hi")], max_tokens: 1 };

  test.each<[string, Record<string, unknown>, string | null]>([
    ["/chat/completions", { ...CHAT, temperature: 0, stop: null, n_probs: null }, null],
    ["/chat/completions", { ...CHAT, user: "u", n_probs: 3, cache_prompt: true }, "user, n_probs, cache_prompt"],
    ["/chat/completions", { ...CHAT, metadata: { a: "b" }, store: false }, "metadata"],
    ["/chat/completions", { ...CHAT, stream: true, id_slot: 1, "a\nb": 1 }, "id_slot, a?b"],
    ["/chat/completions", { ...CHAT, mirostat: 2, top_p: 0.5 }, "top_p"],
    ["/completions", { prompt: "Hi", max_tokens: 1, samplers: "k", temperature: 0.5 }, "temperature"],
    ["/completions", { prompt: "Hi", max_tokens: 1, nightshift: { dry_run: true }, tfs_z: 1 }, "tfs_z"],
    ["/embeddings", { input: "Hi", user: "u", normalize: true }, "user, normalize"],
    ["/tokenize", { prompt: "Hi", temperature: 1 }, "temperature"],
    ["/tokenize", { messages: CHAT.messages, temperature: 1, n_probs: 1 }, "n_probs"],
    ["/detokenize", { tokens: [65], pieces: true }, "pieces"],
  ])("%s: %j", async (path, body, names) => {
    expect(await ignored(path, body)).toBe(names);
  });

  test("a request that is refused later has the header, too", async () => {
    const error = await failure(chat({ model: "unknown", n_probs: 3 }));
    expect(error.headers?.get("x-nightshift-ignored")).toBe("n_probs");
  });
});

describe("invalid values", () => {
  test.each<[string, Record<string, unknown>, string]>([
    ["temperature", { temperature: 2.1 }, "invalid_value"],
    ["temperature", { temperature: -0.1 }, "invalid_value"],
    ["temperature", { temperature: "hot" }, "invalid_type"],
    ["top_p", { top_p: 1.5 }, "invalid_value"],
    ["n", { n: 0 }, "invalid_value"],
    ["n", { n: 1000 }, "invalid_value"],
    ["n", { n: 1.5 }, "invalid_type"],
    ["max_tokens", { max_tokens: 0 }, "invalid_value"],
    ["max_tokens", { max_tokens: -1 }, "invalid_value"],
    ["max_completion_tokens", { max_completion_tokens: 1e30 }, "invalid_value"],
    ["stop", { stop: ["a", "b", "c", "d", "e"] }, "invalid_value"],
    ["seed", { seed: 0.5 }, "invalid_value"],
    ["frequency_penalty", { frequency_penalty: 3 }, "invalid_value"],
    ["presence_penalty", { presence_penalty: -3 }, "invalid_value"],
    ["logit_bias.5", { logit_bias: { "5": 101 } }, "invalid_value"],
    ["logit_bias.x", { logit_bias: { x: 1 } }, "invalid_value"],
    ["stream_options", { stream_options: { include_usage: true } }, "invalid_value"],
    ["min_tokens", { min_tokens: 5 }, "invalid_value"],
    ["top_logprobs", { top_logprobs: 2 }, "invalid_value"],
    ["top_logprobs", { logprobs: true, top_logprobs: 21 }, "invalid_value"],
    ["logprobs", { logprobs: 1 }, "invalid_type"],
    ["messages", { messages: [] }, "invalid_value"],
    ["messages", { messages: undefined }, "missing_required_parameter"],
    ["model", { model: undefined }, "missing_required_parameter"],
    ["messages[0].role", { messages: [{ role: "boss", content: "x" }] }, "invalid_value"],
    ["messages[0].content", { messages: [{ role: "user" }] }, "missing_required_parameter"],
    ["messages[0].content", { messages: [{ role: "user", content: 5 }] }, "invalid_type"],
    ["reasoning_effort", { reasoning_effort: "extreme" }, "invalid_value"],
    ["service_tier", { service_tier: "batch" }, "invalid_value"],
    ["metadata.k", { metadata: { k: "v".repeat(513) } }, "invalid_value"],
    ["metadata.k", { metadata: { k: 1 } }, "invalid_type"],
  ])("%s of %j", async (param, fields, code) => {
    const error = await failure(chat(fields));
    expect(error).toBeInstanceOf(OpenAI.BadRequestError);
    expect(error).toMatchObject({ type: "invalid_request_error", param, code });
  });

  test("logit_bias and stop_token_ids beyond the vocabulary", async () => {
    expect(await failure(chat({ logit_bias: { "1024": 1 } }))).toMatchObject({ status: 400, param: "logit_bias" });
    expect(await failure(chat({ stop_token_ids: [1024] }))).toMatchObject({ status: 400, param: "stop_token_ids" });
  });
});

describe("completions", () => {
  test.each<[string, Record<string, unknown>, string]>([
    ["logprobs", { logprobs: 6 }, "invalid_value"],
    ["n", { n: 2, echo: true, logprobs: 1 }, "unsupported_value"],
    ["model", { suffix: "end" }, "unsupported_model"],
    ["echo", { suffix: "end", echo: true }, "unsupported_value"],
    ["prompt", { suffix: "end", prompt: [1] }, "unsupported_value"],
    ["best_of", { best_of: 3 }, "unsupported_value"],
    ["cache_salt", { cache_salt: "s" }, "unsupported_parameter"],
    ["prompt", { prompt: undefined }, "missing_required_parameter"],
    ["prompt", { prompt: [] }, "invalid_value"],
    ["prompt", { prompt: {} }, "invalid_type"],
    ["prompt[1]", { prompt: [1, "a"] }, "invalid_type"],
    ["prompt[0]", { prompt: [-1] }, "invalid_value"],
  ])("%s of %j is refused", async (param, fields, code) => {
    expect(await failure(completion(fields))).toMatchObject({ status: 400, param, code });
  });

  test.each([[[5000]], [""]])("a prompt without tokens or with unknown ones is refused: %j", async (prompt) => {
    expect(await failure(completion({ prompt }))).toMatchObject({ status: 400, code: "invalid_value" });
  });
});
