import type OpenAI from "openai";
import { afterAll, beforeAll, beforeEach, describe, expect, it, test } from "vitest";
import { complete, type Options, stream, user } from "../api/ask.ts";
import { failure } from "../api/failure.ts";
import { ServedFakes } from "./served.ts";
import { DIMENSIONS, vectorOf } from "./side-answers.ts";

const CHAT = "/v1/chat/completions";
const KINDS = ["vllm", "sglang", "llama-server", "tgi", "trtllm", "hosted", "nightshift"] as const;

let served: ServedFakes;
let client: OpenAI;
beforeAll(async () => {
  const kinds = Object.fromEntries(KINDS.map((kind) => [kind, { kind }]));
  served = await ServedFakes.start({
    ...kinds,
    queue: { kind: "vllm", priority: true, settings: { priority: "vllm" } },
  });
  client = served.server.client;
});
afterAll(() => served.stop());
beforeEach(() => served.reset());

/** The body of the only request that an upstream got. */
const sent = (name: string, path = CHAT) => {
  expect(served.fake(name).seen(path)).toHaveLength(1);
  return served.fake(name).seen(path)[0]!.body as Record<string, unknown>;
};
const tools = ["f", "g"].map((name) => ({ type: "function" as const, function: { name } }));

describe.each(KINDS)("an upstream of kind %s", (model) => {
  it("answers a chat", async () => {
    const { choices, usage, model: named } = await complete(client, "one two three", { model });
    expect(choices[0]).toMatchObject({ message: { content: "one two three" }, finish_reason: "stop" });
    expect(usage).toMatchObject({ prompt_tokens: 3, completion_tokens: 3, total_tokens: 6 });
    expect(named).toBe(model);
    expect(sent(model)).toMatchObject({ stream: true, stream_options: { include_usage: true } });
  });

  it("answers n choices within max_tokens", async () => {
    const { choices, usage } = await complete(client, "count 9", { model, n: 2, max_tokens: 3 });
    expect(choices.map(({ message }) => message.content)).toEqual(["1 2 3", "1 2 3"]);
    expect(choices.map(({ finish_reason }) => finish_reason)).toEqual(["length", "length"]);
    expect(usage).toMatchObject({ completion_tokens: 6 });
  });

  it("streams a chat, token by token, with usage where it is asked for", async () => {
    const chunks = await stream(client, "a b c", { model, stream_options: { include_usage: true } } as Options);
    const all: OpenAI.ChatCompletionChunk[] = [];
    for await (const chunk of chunks) all.push(chunk);
    const pieces = all.flatMap(({ choices }) => choices.map(({ delta }) => delta.content ?? ""));
    expect(pieces.filter((piece) => piece !== "")).toEqual(["a", " b", " c"]);
    expect(all.at(-1)!.usage).toMatchObject({ prompt_tokens: 3, completion_tokens: 3 });
    expect(new Set(all.map((chunk) => chunk.model))).toEqual(new Set([model]));
  });

  it("calls tools", async () => {
    const { choices } = await complete(client, "call f g", { model, tools });
    expect(choices[0]!.finish_reason).toBe("tool_calls");
    expect(choices[0]!.message.tool_calls).toMatchObject(
      ["f", "g"].map((name) => ({ type: "function", function: { name, arguments: '{"text":"call f g"}' } })),
    );
    const chunks = await stream(client, "call f g", { model, tools });
    const args = ["", ""];
    for await (const { choices: some } of chunks) {
      for (const call of some[0]?.delta.tool_calls ?? []) args[call.index] += call.function?.arguments ?? "";
    }
    expect(args).toEqual(['{"text":"call f g"}', '{"text":"call f g"}']);
  });

  it("answers in the form of a schema", async () => {
    const schema = { type: "object", properties: { echo: { type: "string" } }, required: ["echo"] };
    const json_schema = { name: "e", schema, strict: true };
    const { choices } = await complete(client, "hello", {
      model,
      response_format: { type: "json_schema", json_schema },
    });
    expect(JSON.parse(choices[0]!.message.content!)).toEqual({ echo: "hello" });
    const form = sent(model).response_format as { type: string; json_schema: { schema: unknown } };
    expect(form).toMatchObject({ type: "json_schema", json_schema: { schema, strict: true } });
    expect(sent(model)).not.toHaveProperty("grammar");
  });

  it("tells log probabilities", async () => {
    const { choices } = await complete(client, "a b", { model, logprobs: true, top_logprobs: 2 });
    expect(choices[0]!.logprobs?.content).toMatchObject([
      { token: "a", logprob: -0.25, bytes: [97], top_logprobs: [{ token: "a" }, { token: "a~1" }] },
      { token: " b" },
    ]);
  });

  it("completes a text", async () => {
    const { choices, usage } = await client.completions.create({ model, prompt: "a b c", stop: " c", logprobs: 1 });
    expect(choices[0]).toMatchObject({ text: "a b", finish_reason: "stop", logprobs: { tokens: ["a", " b"] } });
    expect(usage).toMatchObject({ prompt_tokens: 3, completion_tokens: 2 });
    const several = await client.completions.create({ model, prompt: ["x y", "z"], echo: true });
    expect(several.choices.map(({ text }) => text)).toEqual(["x yx y", "zz"]);
  });

  it("embeds texts", async () => {
    const { data, usage } = await client.embeddings.create({ model, input: ["a b", "c"] });
    expect(data.map(({ embedding }) => embedding.length)).toEqual([DIMENSIONS, DIMENSIONS]);
    expect(data[1]!.embedding[0]).toBeCloseTo(vectorOf("c")[0]!);
    expect(usage).toEqual({ prompt_tokens: 3, total_tokens: 3 });
  });
});

test.each(["vllm", "sglang", "llama-server", "nightshift"])("ranks come from an upstream of kind %s", async (model) => {
  const answer = await client.post("/rerank", { body: { model, query: "a b", documents: ["c", "a b", "b"] } });
  const { results } = answer as { results: { index: number; relevance_score: number }[] };
  expect(results.map(({ index }) => index)).toEqual([1, 2, 0]);
});

test.each(["vllm", "sglang", "llama-server", "trtllm", "nightshift"])(
  "reasoning of kind %s is apart",
  async (model) => {
    const { choices, usage } = await complete(client, "think hard", { model });
    expect(choices[0]!.message).toMatchObject({ content: "think hard", reasoning_content: "Let me think" });
    expect(usage!.completion_tokens).toBe(5);
  },
);

test("the models of all upstreams are listed, and one can be retrieved", async () => {
  const { data } = await client.models.list();
  expect(data.map(({ id }) => id).sort()).toEqual([...KINDS, "queue"].sort());
  expect((await client.models.retrieve("vllm")).id).toBe("vllm");
});

/** Fields and headers by which a client could reach into an engine or the router in front of it. */
const SMUGGLED = {
  ...{
    priority: -100,
    kv_transfer_params: { do_remote_decode: true },
    nvext: { ignore_eos: true },
  },
  ...{
    routing: "x",
    lora_path: "/etc/passwd",
    session_params: {},
    return_hidden_states: true,
    rid: "1",
    vllm_xargs: {},
  },
  ...{ bootstrap_host: "h", bootstrap_port: 1, id_slot: 1, cache_prompt: false, request_id: "r", user: "somebody" },
  ...{ data_parallel_rank: 1, extra_key: "k", add_special_tokens: false, truncate_prompt_tokens: 1 },
};
const HEADERS = {
  ...{ "x-smg-priority": "system", "x-llm-d-inference-objective": "top", "x-dynamo-request-priority": "9" },
  ...{ "x-gateway-inference-fairness-id": "f", "x-api-key": "k", cookie: "c=1", "x-forwarded-for": "1.1.1.1" },
};

test.each([...KINDS, "queue"])("nothing that a client smuggles in reaches %s", async (model) => {
  const body = { model, messages: [user("a")], max_tokens: 2, ...SMUGGLED };
  await client.post("/chat/completions", { body, headers: HEADERS });
  const marks = model === "queue" ? { priority: 0 } : {};
  expect(sent(model)).toEqual({
    ...{ model, messages: [user("a")], max_tokens: 2, stream: true, stream_options: { include_usage: true } },
    ...{ temperature: 1, ...marks },
    // vLLM gets one of this server.
    ...(served.fake(model).kind === "vllm" && { cache_salt: expect.stringMatching(/^[\w-]{43}$/) }),
  });
  const { headers } = served.fake(model).seen(CHAT)[0]!;
  expect(Object.keys(headers).sort()).toEqual(
    ["accept", "connection", "content-length", "content-type", "host"].sort(),
  );
});

test("a field that controls the engine is refused, and is not sent", async () => {
  for (const field of ["cache_salt", "lora", "prompt_embeds", "logits_processors"]) {
    const body = { model: "vllm", messages: [user("a")], [field]: "x" };
    const error = await failure(client.post("/chat/completions", { body }));
    expect(error).toMatchObject({ status: 400, param: field });
  }
  expect(served.fake("vllm").seen(CHAT)).toHaveLength(0);
});

test.each([
  ["default", 0],
  ["flex", 10],
])("the tier %s is the priority %d at an upstream that takes one", async (service_tier, priority) => {
  await client.post("/chat/completions", { body: { model: "queue", messages: [user("a")], service_tier } });
  expect(sent("queue").priority).toBe(priority);
});

describe("what an upstream does not take", () => {
  test.each<[string, string, object]>([
    ["hosted", "top_k and min_p", { top_k: 5 }],
    ["hosted", "repetition_penalty", { repetition_penalty: 1.5 }],
    ["vllm", "samplers of llama.cpp", { typical_p: 0.5 }],
    ["vllm", "a GBNF grammar", { grammar: 'root ::= "a"' }],
    ["llama-server", "min_tokens and stop_token_ids", { min_tokens: 4 }],
  ])("is refused by name, and is not sent: %s, %s", async (model, feature, fields) => {
    const error = await failure(complete(client, "a", { model, ...fields }));
    expect(error).toMatchObject({ status: 400, code: "upstream_refused" });
    expect(error.message).toContain(`The upstream '${model}' does not take ${feature} for this model.`);
    expect(served.fake(model).seen(CHAT)).toHaveLength(0);
  });
});
