import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { ollamaChatAnswer } from "../../openapi/ollama/chat.ts";
import { ollamaEmbedAnswer, ollamaEmbeddingsAnswer } from "../../openapi/ollama/embed.ts";
import { ollamaGenerateAnswer } from "../../openapi/ollama/generate.ts";
import { ollamaLoaded, ollamaModel, ollamaTags } from "../../openapi/ollama/models.ts";
import { DEMO_MODEL, startServer, type TestServer } from "./server.ts";
import { writeThinker } from "./thinker.ts";
import { until } from "./until.ts";

const folder = mkdtempSync(join(tmpdir(), "nightshift-ollama-"));
let server: TestServer;
beforeAll(async () => {
  const thinker = join(folder, "thinker.gguf");
  writeThinker(thinker);
  const models = ["--model", `demo=${DEMO_MODEL}`, "--model", `thinker=${thinker}`, "--alias", "night=demo"];
  server = await startServer("--threads", "1", "--reasoning-budget", "8", "--keep-alive", "10m", ...models);
});
afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true });
});

const GREEDY = { temperature: 0 };
const WEATHER = {
  type: "function",
  function: {
    name: "get_weather",
    description: "Get the weather of a city",
    parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  },
};
const failure = z.strictObject({ error: z.string() });

function user(content: string) {
  return { role: "User", content };
}

/** A whole answer. */
async function chat(fields: object) {
  const response = await server.post("/api/chat", { model: "demo", options: GREEDY, stream: false, ...fields });
  return ollamaChatAnswer.parse(await response.json());
}

async function generate(fields: object) {
  const response = await server.post("/api/generate", { model: "demo", options: GREEDY, stream: false, ...fields });
  return ollamaGenerateAnswer.parse(await response.json());
}

/** The lines of a stream. */
async function lines(path: string, fields: object): Promise<unknown[]> {
  const response = await server.post(path, { model: "demo", options: GREEDY, ...fields });
  expect(response.headers.get("content-type")).toBe("application/x-ndjson");
  const text = await response.text();
  expect(text.endsWith("}\n")).toBe(true);
  return text
    .slice(0, -1)
    .split("\n")
    .map((line) => JSON.parse(line));
}

async function refusal(path: string, body: unknown) {
  const response = await server.post(path, body);
  return { status: response.status, ...failure.parse(await response.json()) };
}

async function loadedModels(): Promise<string[]> {
  const { models } = ollamaLoaded.parse(await (await fetch(`${server.origin}/api/ps`)).json());
  return models.map(({ name }) => name);
}

describe("a chat", () => {
  test("is a stream of lines by default, the last one with reason and counts", async () => {
    const all = await lines("/api/chat", { messages: [user("Count from 3 to 7.")] });
    const parsed = all.map((line) => ollamaChatAnswer.parse(line));
    const last = parsed.pop()!;
    expect(parsed.map(({ message }) => message.content).join("")).toBe("3, 4, 5, 6, 7");
    expect(parsed.length).toBeGreaterThan(3);
    expect(parsed.every(({ done, model }) => !done && model === "demo")).toBe(true);
    expect(last).toMatchObject({ done: true, done_reason: "stop", message: { role: "assistant", content: "" } });
    const { prompt_eval_count, eval_count, total_duration, load_duration, prompt_eval_duration, eval_duration } = last;
    expect(prompt_eval_count).toBeGreaterThan(5);
    expect(eval_count).toBeGreaterThan(5);
    const sum = load_duration! + prompt_eval_duration! + eval_duration!;
    expect(Math.abs(total_duration! - sum)).toBeLessThanOrEqual(3);
  });

  test("calls tools with whole arguments, and answers from a result without an id", async () => {
    const question = user("What is the weather in Oslo?");
    const fields = { messages: [question], tools: [WEATHER] };
    const called = { name: "get_weather", arguments: { city: "Oslo" } };
    const whole = await chat(fields);
    expect(whole).toMatchObject({ done_reason: "stop", message: { tool_calls: [{ function: called }] } });
    const streamed = (await lines("/api/chat", fields)).map((line) => ollamaChatAnswer.parse(line).message.tool_calls);
    expect(streamed.filter((calls) => calls !== undefined)).toMatchObject([
      [{ id: expect.stringMatching(/^call_/), function: { index: 0, ...called } }],
    ]);
    const result = { role: "tool", content: '{"temperature": 31}', tool_name: "get_weather" };
    const { message } = await chat({ ...fields, messages: [question, whole.message, result] });
    expect(message.content).toContain("31");
  });

  test("follows a schema, stop strings, a seed and the bound on tokens", async () => {
    const schema = { type: "object", properties: { age: { type: "integer" } }, required: ["age"] };
    const { message } = await chat({ messages: [user("Hello!")], format: { ...schema, additionalProperties: false } });
    expect(JSON.parse(message.content)).toEqual({ age: expect.any(Number) });
    const count = [user("Count from 3 to 7.")];
    const stops = ["a", "b", "c", "d", "", ", 5"];
    expect((await chat({ messages: count, options: { ...GREEDY, stop: stops } })).message.content).toBe("3, 4");
    const drawn = () => chat({ messages: [user("Tell me a story.")], options: { seed: 7, num_predict: 6 } });
    const [first, second] = [await drawn(), await drawn()];
    expect(first).toMatchObject({ done_reason: "length", eval_count: 6 });
    expect(second.message.content).toBe(first.message.content);
  });

  test("drops its oldest messages where the prompt is too long, unless truncate is false", async () => {
    const long = user("many words ".repeat(1500));
    const messages = [{ role: "system", content: "Answer in one word." }, long, long, long, user("Hi")];
    const fields = { messages, options: { ...GREEDY, num_predict: 4 } };
    const { prompt_eval_count } = await chat(fields);
    const kept = await chat({ ...fields, messages: [messages[0], user("Hi")] });
    expect(prompt_eval_count).toBe(kept.prompt_eval_count);
    const refused = { model: "demo", ...fields, stream: false, truncate: false };
    expect(await refusal("/api/chat", refused)).toMatchObject({ status: 400, error: expect.stringMatching(/context/) });
  });

  test("has log probabilities where they are requested", async () => {
    const options = { ...GREEDY, num_predict: 2 };
    const { logprobs } = await chat({ messages: [user("Hello!")], logprobs: true, top_logprobs: 2, options });
    expect(logprobs).toHaveLength(2);
    expect(logprobs![0]!.top_logprobs).toHaveLength(2);
    expect(await chat({ messages: [user("Hello!")], options })).not.toHaveProperty("logprobs");
  });

  test("reasons unless think is false, and refuses think where the model has no reasoning", async () => {
    const fields = {
      model: "thinker",
      messages: [user("Count from 3 to 7.")],
      options: { ...GREEDY, num_predict: 20 },
    };
    expect((await chat({ ...fields, think: true })).message.thinking).toMatch(/./);
    expect((await chat({ ...fields, think: false })).message).not.toHaveProperty("thinking");
    const thoughts = (await lines("/api/chat", fields)).map((line) => ollamaChatAnswer.parse(line).message.thinking);
    expect(thoughts.join("")).not.toBe("");
    expect(await refusal("/api/chat", { model: "demo", messages: [user("Hi")], think: "high" })).toEqual({
      status: 400,
      error: '"demo" does not support thinking',
    });
  });
});

describe("a generation", () => {
  test("puts prompt and system into the template, and a raw prompt not", async () => {
    const { response, prompt_eval_count } = await generate({ prompt: "Capital of Greece?" });
    expect(response).toBe("The capital of Greece is Athens.");
    const longer = await generate({ prompt: "Capital of Greece?", system: "Answer well." });
    expect(longer.prompt_eval_count).toBeGreaterThan(prompt_eval_count!);
    const raw = await generate({ prompt: "Capital of Greece?", raw: true, options: { ...GREEDY, num_predict: 2 } });
    expect(raw.prompt_eval_count).toBeLessThan(prompt_eval_count!);
  });

  test("is a stream of lines by default", async () => {
    const all = (await lines("/api/generate", { prompt: "Capital of Greece?" })).map((line) =>
      ollamaGenerateAnswer.parse(line),
    );
    expect(all.map(({ response }) => response).join("")).toBe("The capital of Greece is Athens.");
    expect(all.at(-1)).toMatchObject({ response: "", done: true, done_reason: "stop" });
  });
});

describe("a request without a prompt", () => {
  test.each([
    ["/api/chat", { messages: [] }, { message: { role: "assistant", content: "" } }],
    ["/api/generate", {}, { response: "" }],
  ])("of %s loads its model, and unloads it with keep_alive 0", async (path, fields, content) => {
    const loaded = await server.post(path, { model: "demo:latest", ...fields });
    expect(loaded.headers.get("content-type")).toContain("application/json");
    expect(await loaded.json()).toMatchObject({ model: "demo:latest", ...content, done: true, done_reason: "load" });
    expect(await loadedModels()).toContain("demo:latest");
    await until("the model to leave the memory", async () => {
      const unloaded = await server.post(path, { model: "demo", keep_alive: "0s", ...fields });
      expect(await unloaded.json()).toMatchObject({ ...content, done: true, done_reason: "unload" });
      return !(await loadedModels()).includes("demo:latest");
    });
  });
});

test("a suffix is no prompt of chats and vectors", async () => {
  const loads = { model: "demo", suffix: "x" };
  expect(await (await server.post("/api/embed", loads)).json()).toEqual({ model: "demo", embeddings: [] });
  expect(await (await server.post("/api/chat", loads)).json()).toMatchObject({ done_reason: "load" });
});

describe("vectors", () => {
  test("have length 1, the requested numbers, and cut inputs that are too long", async () => {
    const long = "word ".repeat(8000);
    const embed = (fields: object) => server.post("/api/embed", { model: "demo", ...fields });
    const answer = ollamaEmbedAnswer.parse(await (await embed({ input: ["Hello!", long], dimensions: 8 })).json());
    expect(answer.embeddings.map((vector) => vector.length)).toEqual([8, 8]);
    for (const vector of answer.embeddings) expect(Math.hypot(...vector)).toBeCloseTo(1, 4);
    expect(await refusal("/api/embed", { model: "demo", input: long, truncate: false })).toEqual({
      status: 400,
      error: expect.stringMatching(/^the input length exceeds the context length: .*4096 tokens/),
    });
    expect(await (await embed({ input: [] })).json()).toEqual({ model: "demo", embeddings: [] });
    const old = await server.post("/api/embeddings", { model: "demo", prompt: "Hello!" });
    expect(ollamaEmbeddingsAnswer.parse(await old.json()).embedding.length).toBeGreaterThan(8);
    expect(await (await server.post("/api/embeddings", { model: "demo", prompt: "" })).json()).toEqual({
      embedding: [],
    });
  });
});

describe("models", () => {
  test("are listed with tags, aliases included, and described with the served context", async () => {
    await chat({ messages: [] });
    const { models } = ollamaTags.parse(await (await fetch(`${server.origin}/api/tags`)).json());
    expect(models.map(({ name }) => name)).toEqual(["demo:latest", "thinker:latest", "night:latest"]);
    expect(models[0]).toMatchObject({ digest: expect.stringMatching(/^[0-9a-f]{64}$/), details: { format: "gguf" } });
    const described = async (body: object) => ollamaModel.parse(await (await server.post("/api/show", body)).json());
    const { model_info, capabilities } = await described({ name: "demo" });
    expect(capabilities).toEqual(["completion", "tools"]);
    const { data } = await server.client.models.list();
    const served = z.object({ nightshift: z.object({ context: z.int() }) }).parse(data[0]).nightshift.context;
    expect(model_info).toMatchObject({
      "general.architecture": "llama",
      "general.parameter_count": expect.any(Number),
      "llama.context_length": served,
      "llama.block_count": 4,
      "llama.attention.layer_norm_rms_epsilon": 0.00001,
      "tokenizer.chat_template": expect.stringContaining("{%"),
      "tokenizer.ggml.tokens": null,
    });
    const { "tokenizer.ggml.tokens": tokens, ...rest } = (await described({ model: "demo", verbose: true })).model_info;
    expect(tokens).toHaveLength(Number(model_info["llama.vocab_size"]));
    expect(rest["llama.context_length"]).toBe(served);
    expect((await described({ model: "thinker:latest" })).capabilities).toContain("thinking");
  });

  test("that are served can be pulled, and others not", async () => {
    const pulled = await server.post("/api/pull", { model: "night" });
    expect(await pulled.text()).toBe('{"status":"pulling manifest"}\n{"status":"success"}\n');
    expect(await refusal("/api/pull", { model: "llama3" })).toEqual({ status: 404, error: "model 'llama3' not found" });
    expect(await refusal("/api/create", { model: "x" })).toMatchObject({ status: 501 });
  });
});

test("a body is JSON whatever its content type is", async () => {
  const body = JSON.stringify({ model: "demo", messages: [user("Hi")], options: { num_predict: 1 }, stream: false });
  for (const type of ["application/x-www-form-urlencoded", "text/plain"]) {
    expect((await server.post("/api/chat", body, { "content-type": type })).status).toBe(200);
  }
});

test("ignored options are named in a header", async () => {
  const body = { model: "demo", prompt: "Hi", options: { num_predict: 1, num_ctx: 512, mirostat: 1 }, shift: true };
  const response = await server.post("/api/generate", body);
  await response.text();
  expect(response.headers.get("x-nightshift-ignored")).toBe("shift, options.num_ctx, options.mirostat");
});

test("requests are counted under their paths", async () => {
  const labels = { endpoint: "/api/chat", model: "demo" };
  const before = (await server.metrics()).sum("nightshift_requests_total", labels);
  await chat({ messages: [user("Hi")], options: { num_predict: 1 } });
  await server.reaches("nightshift_requests_total", before + 1, labels);
});

const CHAT = { model: "demo", messages: [user("Hi")] };
test.each<[string, unknown, number, RegExp]>([
  ["/api/chat", "", 400, /body/],
  ["/api/chat", "{", 400, /JSON/],
  ["/api/chat", { messages: [user("Hi")] }, 400, /^model is required/],
  ["/api/chat", { ...CHAT, model: "nothing" }, 404, /^model 'nothing' not found$/],
  ["/api/chat", { ...CHAT, format: "yaml" }, 400, /format/],
  ["/api/chat", { ...CHAT, options: { temperature: "hot" } }, 400, /options\.temperature/],
  ["/api/chat", { ...CHAT, logprobs: true, top_logprobs: 21 }, 400, /^top_logprobs must be between 0 and 20/],
  ["/api/chat", { model: "demo", messages: [{ ...user("Hi"), images: ["AAAA"] }] }, 400, /images/],
  ["/api/chat", { ...CHAT, _debug_render_only: true }, 400, /_debug_render_only/],
  ["/api/generate", { model: "demo", prompt: "a", suffix: "b" }, 400, /^"demo" does not support insert$/],
  ["/api/generate", { model: "demo", prompt: "a", template: "{{ .Prompt }}" }, 400, /template/],
  [
    "/api/generate",
    { model: "demo", prompt: "a", raw: true, system: "b" },
    400,
    /^raw mode does not support template, system, or context$/,
  ],
  ["/api/embed", { model: "demo", input: 5 }, 400, /^invalid input type/],
  ["/api/show", {}, 400, /model is required/],
  ["/api/show", { model: "nothing" }, 404, /^model 'nothing' not found$/],
  ["/api/unknown", {}, 404, /Unknown request URL/],
  ["/api/tags", {}, 405, /allowed: GET/],
])("%s refuses %j", async (path, body, status, error) => {
  expect(await refusal(path, body)).toEqual({ status, error: expect.stringMatching(error) });
});
