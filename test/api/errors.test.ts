import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ask, complete, endless, stream } from "./ask.ts";
import { failure } from "./failure.ts";
import { startServer, type TestServer } from "./server.ts";

const CONTEXT = 256;

let server: TestServer;
beforeAll(async () => {
  server = await startServer("--context", String(CONTEXT), "--sequences", "1");
});
afterAll(() => server.stop());

describe("an unknown model", () => {
  test.each(["gpt-4o", "../../etc/passwd", "demo\r\nx: y", "", "__proto__", "x".repeat(5000)])("%j", async (model) => {
    const error = await failure(complete(server.client, "Hello!", { model }));
    expect(error).toBeInstanceOf(OpenAI.NotFoundError);
    expect(error).toMatchObject({ code: "model_not_found", type: "invalid_request_error", param: "model" });
  });

  test("is not found by models.retrieve", async () => {
    for (const model of ["gpt-4o", "a/b", "..%2f", "constructor"]) {
      const error = await failure(server.client.models.retrieve(model));
      expect(error).toBeInstanceOf(OpenAI.NotFoundError);
      expect(error.code).toBe("model_not_found");
    }
  });
});

describe("a prompt longer than the context", () => {
  const long = "river ".repeat(CONTEXT);

  test("is refused before it is queued", async () => {
    // The only sequence runs until the context is full.
    const running = await stream(server.client, "Count from 1 to 20.", { ignore_eos: true });
    const chunks = running[Symbol.asyncIterator]();
    await chunks.next();
    const error = await failure(complete(server.client, long));
    expect(error).toBeInstanceOf(OpenAI.BadRequestError);
    expect(error).toMatchObject({ code: "context_length_exceeded", param: "messages" });
    expect(error.message).toContain(String(CONTEXT));
    const metrics = await server.metrics();
    expect(metrics.sum("nightshift_requests_waiting")).toBe(0);
    running.controller.abort();
    await server.idle();
  });

  test("is refused in completions, streams and lists", async () => {
    const tokens = Array.from({ length: CONTEXT }, () => 65);
    for (const prompt of [long, tokens, ["short", long]]) {
      for (const streamed of [false, true]) {
        const error = await failure(server.client.completions.create({ model: "demo", prompt, stream: streamed }));
        expect(error).toMatchObject({ status: 400, code: "context_length_exceeded", param: "prompt" });
      }
    }
    expect(await failure(stream(server.client, long))).toMatchObject({ status: 400, code: "context_length_exceeded" });
  });

  test("is answered with one token where one fits", async () => {
    const prompt = Array.from({ length: CONTEXT - 1 }, () => 65);
    const body = { model: "demo", prompt, max_tokens: 50, temperature: 0, ...{ ignore_eos: true } };
    const { usage, choices } = await server.client.completions.create(body);
    expect(usage).toMatchObject({ prompt_tokens: CONTEXT - 1, completion_tokens: 1 });
    expect(choices[0]!.finish_reason).toBe("length");
  });

  test("a choice without a limit ends where the context does", async () => {
    const { usage, choices } = await complete(server.client, "Hello!", { ignore_eos: true });
    expect(usage!.total_tokens).toBe(CONTEXT);
    expect(choices[0]!.finish_reason).toBe("length");
  });
});

describe("the form of an error", () => {
  test("has four keys, and the headers of every response", async () => {
    const response = await server.post("/v1/chat/completions", { model: "demo" });
    expect(response.status).toBe(400);
    const { error } = (await response.json()) as { error: object };
    expect(Object.keys(error).sort()).toEqual(["code", "message", "param", "type"]);
    expect(response.headers.get("x-request-id")).toMatch(/^req_/);
    expect(response.headers.get("openai-version")).toBe("2020-10-01");
    expect(response.headers.get("openai-processing-ms")).toMatch(/^\d+$/);
  });

  test.each([
    ["truncated JSON", '{"model": "demo", "messages": [', 400],
    ["nothing", "", 400],
    ["null", "null", 400],
    ["a list", "[]", 400],
    ["trailing data", '{"model": "demo"} x', 400],
    ["100,000 brackets", "[".repeat(100_000), 400],
    ["NaN", '{"model":"demo","messages":[{"role":"user","content":"x"}],"temperature":NaN}', 400],
    ["1e999", '{"model":"demo","messages":[{"role":"user","content":"x"}],"temperature":1e999}', 400],
    ["a lone surrogate", '{"model":"demo","messages":[{"role":"user","content":"\\ud800"}]}', 400],
    ["a body over the limit", `{"model":"${"x".repeat(11 * 1024 * 1024)}"}`, 413],
  ])("%s", async (_, body, status) => {
    const response = await server.post("/v1/chat/completions", body);
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({ error: { type: "invalid_request_error" } });
  });

  test.each([
    ["GET", "/v1/completions", 405],
    ["POST", "/v1/nothing", 404],
    ["GET", "/nothing", 404],
    ["POST", "/", 405],
    ["DELETE", "/v1/models/demo", 405],
  ])("%s %s", async (method, path, status) => {
    const response = await fetch(server.origin + path, { method });
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({ error: { type: expect.any(String) } });
    if (status === 405) expect(response.headers.get("allow")).toBeTruthy();
  });

  test("keys named like a prototype have no effect", async () => {
    const body = '{"model":"demo","messages":[{"role":"user","content":"Hello!"}],"__proto__":{"n":5},"temperature":0}';
    const response = await server.post("/v1/chat/completions", body);
    const { choices } = (await response.json()) as OpenAI.ChatCompletion;
    expect(choices).toHaveLength(1);
    expect(await ask(server.client, "Hello!", endless(5))).toMatch(/^Hello!/);
  });
});
