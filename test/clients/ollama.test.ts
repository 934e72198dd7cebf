import { type ChatResponse, Ollama } from "ollama";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startServer, type TestServer } from "../api/server.ts";

let server: TestServer;
let client: Ollama;
beforeAll(async () => {
  server = await startServer("--threads", "1");
  client = new Ollama({ host: server.origin });
});
afterAll(() => server.stop());

const options = { temperature: 0 };
const WEATHER = {
  type: "function",
  function: {
    name: "get_weather",
    description: "Get the weather of a city",
    parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  },
};

test("chat streams to its end, with counts", async () => {
  const messages = [{ role: "user", content: "Count from 3 to 12." }];
  const parts: ChatResponse[] = [];
  for await (const part of await client.chat({ model: "demo:latest", messages, options, stream: true }))
    parts.push(part);
  expect(parts.map(({ message }) => message.content).join("")).toBe("3, 4, 5, 6, 7, 8, 9, 10, 11, 12");
  expect(parts.at(-1)).toMatchObject({ model: "demo:latest", done: true, done_reason: "stop" });
  expect(parts.at(-1)!.eval_count).toBeGreaterThan(10);
});

test("chat streams a call whole, in one part", async () => {
  const messages = [{ role: "user", content: "What is the weather in Oslo?" }];
  const calls = [];
  for await (const { message } of await client.chat({
    model: "demo",
    messages,
    tools: [WEATHER],
    options,
    stream: true,
  }))
    calls.push(...(message.tool_calls ?? []));
  expect(calls).toMatchObject([{ function: { name: "get_weather", arguments: { city: "Oslo" } } }]);
});

test("chat calls a tool, and answers from its result", async () => {
  const question = { role: "user", content: "What is the weather in Oslo?" };
  const { message } = await client.chat({ model: "demo", messages: [question], tools: [WEATHER], options });
  expect(message.tool_calls?.[0]?.function).toMatchObject({ name: "get_weather", arguments: { city: "Oslo" } });
  const result = { role: "tool", content: '{"temperature": 31}', tool_name: "get_weather" };
  const messages = [question, message, result];
  const answer = await client.chat({ model: "demo", messages, tools: [WEATHER], options });
  expect(answer.message.content).toContain("31");
});

test("generate answers with a schema, and embed with vectors", async () => {
  const format = {
    type: "object",
    properties: { a: { type: "boolean" } },
    required: ["a"],
    additionalProperties: false,
  };
  const { response, done } = await client.generate({ model: "demo", prompt: "Hello!", format, options, stream: false });
  expect(done).toBe(true);
  expect(JSON.parse(response ?? "")).toEqual({ a: expect.any(Boolean) });
  const { embeddings } = await client.embed({ model: "demo", input: ["Hello!", "Bye!"] });
  expect(embeddings).toHaveLength(2);
});

test("list, show, ps, version and pull describe the served model", async () => {
  const { models } = await client.list();
  expect(models.map(({ name }) => name)).toEqual(["demo:latest"]);
  expect((await client.show({ model: models[0]!.name })).capabilities).toContain("tools");
  expect((await client.ps()).models.map(({ name }) => name)).toEqual(["demo:latest"]);
  expect((await client.version()).version).toMatch(/^\d+\.\d+\.\d+$/);
  expect(await client.pull({ model: "demo" })).toMatchObject({ status: "success" });
});

test("errors reach the program with their status and text", async () => {
  const messages = [{ role: "user", content: "Hi" }];
  await expect(client.chat({ model: "nothing", messages })).rejects.toMatchObject({
    message: "model 'nothing' not found",
    status_code: 404,
  });
});

test("a stream can be aborted", async () => {
  const messages = [{ role: "user", content: "Count from 3 to 12." }];
  const stream = await client.chat({
    ...{ model: "demo", messages, stream: true },
    format: { type: "array", items: { type: "integer" }, minItems: 1000 },
  });
  const read = async () => {
    for await (const _ of stream) stream.abort();
  };
  await expect(read()).rejects.toThrow(/abort/i);
  await server.idle();
});
