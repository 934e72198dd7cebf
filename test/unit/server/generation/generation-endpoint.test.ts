import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { ApiError, invalidRequest } from "../../../../openapi/api-error.ts";
import { chatResponse } from "../../../../openapi/generation/chat.ts";
import { completionResponse } from "../../../../openapi/generation/completions.ts";
import { PLAIN_SAMPLING } from "../../../plain-submission.ts";
import { saying } from "../fake-engine.ts";
import { CHAT, startTestServer, type TestServer } from "../test-server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.close());
beforeEach(() => {
  server.engine.script = null;
});

const crash = new ApiError("engine_died", "The engine died.");

function dataOf(text: string): string[] {
  return text.split("\n\n").flatMap((event) => (event === "" ? [] : [event.slice("data: ".length)]));
}

describe("a whole chat completion", () => {
  it("has every key that clients read", async () => {
    server.engine.script = (request) => request.begin().say("", { reasoning: "hm" }).say("Hel").say("lo").finish(0, 1);
    const response = await server.post("/v1/chat/completions", { ...CHAT, service_tier: "fast" });
    expect(response.status).toBe(200);
    expect(response.headers.get("x-request-id")).toMatch(/^req_/);
    expect(response.headers.get("openai-version")).toBe("2020-10-01");
    expect(response.headers.get("openai-processing-ms")).toMatch(/^\d+$/);
    const body = await response.json();
    expect(chatResponse.strict().parse(body)).toEqual(body);
    expect(body).toMatchObject({
      object: "chat.completion",
      created: 1_700_000_001,
      model: "demo",
      service_tier: "priority",
      system_fingerprint: "fp_demo_b1",
      choices: [
        {
          index: 0,
          message: { role: "assistant", content: "Hello", refusal: null, reasoning_content: "hm" },
          logprobs: null,
          finish_reason: "stop",
        },
      ],
      usage: {
        prompt_tokens: 5,
        completion_tokens: 3,
        total_tokens: 8,
        prompt_tokens_details: { cached_tokens: 2 },
        completion_tokens_details: { reasoning_tokens: 1 },
      },
    });
  });

  it("keeps a client's own safe request id", async () => {
    server.engine.script = saying("a");
    const headers = { "content-type": "application/json", "x-request-id": "mine-1" };
    const response = await server.post("/v1/chat/completions", CHAT, { headers });
    expect(response.headers.get("x-request-id")).toBe("mine-1");
    const odd = { ...headers, "x-request-id": "a b<script>" };
    const other = await server.post("/v1/chat/completions", CHAT, { headers: odd });
    expect(other.headers.get("x-request-id")).toMatch(/^req_/);
  });

  it("submits the fields of the body to the engine", async () => {
    server.engine.script = saying("a");
    await server.post("/v1/chat/completions", {
      model: "demo",
      messages: [
        {
          role: "developer",
          content: [
            { type: "text", text: "a" },
            { type: "text", text: "b" },
          ],
        },
        {
          role: "assistant",
          content: null,
          tool_calls: [{ id: "c", type: "function", function: { name: "f", arguments: "{}" } }],
        },
        { role: "tool", tool_call_id: "c", content: "4" },
      ],
      max_tokens: 7,
      stop: "x",
      seed: -1,
      temperature: null,
      top_k: -1,
      logit_bias: { 5: -100 },
      reasoning_effort: "none",
      service_tier: "flex",
    });
    expect(server.engine.requests.at(-1)?.submission).toEqual({
      tier: "flex",
      owner: "local",
      endpoint: "/v1/chat/completions",
      n: 1,
      maxTokens: 7,
      minTokens: 0,
      stop: ["x"],
      stopTokenIds: [],
      ignoreEos: false,
      grammar: null,
      echo: false,
      logprobs: null,
      prompt: {
        kind: "chat",
        messages: [
          { role: "developer", content: "a\nb" },
          {
            role: "assistant",
            content: null,
            tool_calls: [{ id: "c", type: "function", function: { name: "f", arguments: "{}" } }],
          },
          { role: "tool", content: "4", tool_call_id: "c" },
        ],
        variables: {},
        thinking: { effort: "none", budget: null },
        tools: [],
      },
      sampling: { ...PLAIN_SAMPLING, temperature: 1, logitBias: [[5, -100]], seed: 2 ** 32 - 130 },
    });
  });

  it("starts over after an engine's death while no byte was sent", async () => {
    const submitted = server.engine.next();
    const response = server.post("/v1/chat/completions", CHAT);
    const request = await submitted;
    request.begin().say("lost");
    expect(request.listener.mayRestart("died")).toBe(true);
    request.begin().say("kept").finish();
    const body = chatResponse.parse(await (await response).json());
    expect(body.choices[0]?.message.content).toBe("kept");
  });
});

describe("a stream", () => {
  it("begins with the role, ends with the reason, the usage and [DONE]", async () => {
    server.engine.script = saying("Hi");
    const response = await server.post("/v1/chat/completions", {
      ...CHAT,
      stream: true,
      stream_options: { include_usage: true },
    });
    expect(response.headers.get("content-type")).toContain("text/event-stream");
    const events = dataOf(await response.text());
    expect(events.at(-1)).toBe("[DONE]");
    const chunks = events.slice(0, -1).map((data) => JSON.parse(data));
    expect(chunks.map((chunk) => chunk.choices[0]?.delta)).toEqual([
      { role: "assistant", content: "" },
      { content: "Hi" },
      {},
      undefined,
    ]);
    expect(chunks.map((chunk) => chunk.choices[0]?.finish_reason)).toEqual([null, null, "stop", undefined]);
    expect(chunks.slice(0, -1).every((chunk) => chunk.usage === null)).toBe(true);
    expect(chunks.at(-1)).toMatchObject({
      choices: [],
      usage: { prompt_tokens: 5, completion_tokens: 1, total_tokens: 6 },
    });
    expect(new Set(chunks.map((chunk) => `${chunk.id} ${chunk.created}`)).size).toBe(1);
  });

  it("has no usage key unless requested", async () => {
    server.engine.script = saying("Hi");
    const text = await (await server.post("/v1/chat/completions", { ...CHAT, stream: true })).text();
    expect(text).not.toContain("usage");
  });

  it("that fails before its first byte is an HTTP error", async () => {
    server.engine.script = (request) => {
      request.begin().say("");
      request.fail(invalidRequest("context_length_exceeded", "messages", "Too long."));
    };
    const response = await server.post("/v1/chat/completions", { ...CHAT, stream: true });
    expect(response.status).toBe(400);
    expect(await response.json()).toEqual({
      error: {
        message: "Too long.",
        type: "invalid_request_error",
        param: "messages",
        code: "context_length_exceeded",
      },
    });
  });

  it("that fails later ends with an error event and without [DONE]", async () => {
    server.engine.script = (request) => {
      request.begin().say("a");
      expect(request.listener.mayRestart("died")).toBe(false);
      request.fail(crash);
    };
    const response = await server.post("/v1/chat/completions", { ...CHAT, stream: true });
    expect(response.status).toBe(200);
    const events = dataOf(await response.text());
    expect(JSON.parse(events.at(-1)!)).toEqual(crash.body);
  });

  it("keeps the connection for the next request", async () => {
    server.engine.script = saying("a");
    for (let i = 0; i < 3; i++) await (await server.post("/v1/chat/completions", { ...CHAT, stream: true })).text();
    expect((await server.post("/v1/chat/completions", CHAT)).status).toBe(200);
  });
});

describe("completions", () => {
  it("number the choices over all prompts and count each prompt once", async () => {
    server.engine.script = (request) => {
      const prompt = request.submission.prompt;
      request.begin(3, 1, prompt.kind === "text" ? prompt.text : "");
      for (let index = 0; index < request.submission.n; index++) request.say(`-${index}`, { index }).finish(index);
    };
    const response = await server.post("/v1/completions", { model: "demo", prompt: ["a", "b"], n: 2, echo: true });
    const json = await response.json();
    const body = completionResponse.strict().parse(json);
    expect(body).toEqual(json);
    expect(body.choices.map(({ text }) => text)).toEqual(["a-0", "a-1", "b-0", "b-1"]);
    expect(body.choices.map(({ index }) => index)).toEqual([0, 1, 2, 3]);
    expect(body.usage).toMatchObject({ prompt_tokens: 6, completion_tokens: 4, total_tokens: 10 });
    expect(server.engine.requests.at(-1)?.submission.maxTokens).toBe(16);
  });

  it("stream the echoed prompt first", async () => {
    server.engine.script = (request) => request.begin(3, 0, "Once").say(" upon").finish();
    const response = await server.post("/v1/completions", {
      model: "demo",
      prompt: [1, 2, 3],
      echo: true,
      stream: true,
    });
    const chunks = dataOf(await response.text())
      .slice(0, -1)
      .map((data) => JSON.parse(data));
    expect(chunks.map((chunk) => chunk.choices[0].text)).toEqual(["Once", " upon", ""]);
    expect(chunks.every((chunk) => chunk.object === "text_completion")).toBe(true);
  });

  it("are refused as a whole when one prompt is, even if another has started", async () => {
    server.engine.script = (request) => {
      const prompt = request.submission.prompt;
      if (prompt.kind === "text" && prompt.text === "short") request.begin().say("x");
      else setImmediate(() => request.fail(invalidRequest("context_length_exceeded", "prompt", "Too long.")));
    };
    const response = await server.post("/v1/completions", { model: "demo", prompt: ["short", "long"], stream: true });
    expect(response.status).toBe(400);
    expect(server.engine.requests.at(-2)?.cancelled).toBe(true);
  });

  it("refuse token ids outside the vocabulary", async () => {
    const response = await server.post("/v1/completions", { model: "demo", prompt: [1, 1000] });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { param: "prompt", code: "invalid_value" } });
  });
});
