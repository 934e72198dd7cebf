import type OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { complete, stream } from "./ask.ts";
import { startServer, type TestServer } from "./server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

type Chunk = OpenAI.ChatCompletionChunk;

async function collect<T>(chunks: AsyncIterable<T>): Promise<T[]> {
  const all = [];
  for await (const chunk of chunks) all.push(chunk);
  return all;
}

function textOf(chunks: Chunk[], index = 0): string {
  const choices = chunks.flatMap(({ choices }) => choices).filter((choice) => choice.index === index);
  return choices.map(({ delta }) => delta.content ?? "").join("");
}

describe("a streamed answer equals the complete one", () => {
  test.each([
    "What can you do?",
    "Count from 2 to 22.",
    "Capital of South Korea?",
    "Label this review as JSON: Worst headset ever.",
    "Repeat after me: marble",
  ])("%s", async (question) => {
    const whole = await complete(server.client, question);
    const chunks = await collect(await stream(server.client, question, { stream_options: { include_usage: true } }));
    expect(textOf(chunks)).toBe(whole.choices[0]!.message.content);
    const { usage, choices } = chunks.at(-1)!;
    expect(choices).toEqual([]);
    expect(usage!.prompt_tokens).toBe(whole.usage!.prompt_tokens);
    expect(usage!.completion_tokens).toBe(whole.usage!.completion_tokens);
  });

  test("with a seed at temperature 1, for each of n choices", async () => {
    const options = { temperature: 1, seed: 7, n: 3, max_tokens: 40 };
    const whole = await complete(server.client, "Tell a story about a crow.", options);
    const chunks = await collect(await stream(server.client, "Tell a story about a crow.", options));
    expect([0, 1, 2].map((index) => textOf(chunks, index))).toEqual(whole.choices.map((c) => c.message.content));
    for (const index of [0, 1, 2]) {
      const own = chunks.flatMap(({ choices }) => choices).filter((choice) => choice.index === index);
      expect(own[0]!.delta).toEqual({ role: "assistant", content: "" });
      expect(own.filter((choice) => choice.finish_reason !== null)).toHaveLength(1);
      expect(own.at(-1)).toMatchObject({ delta: {}, finish_reason: "length" });
    }
  });

  test("completions, with several prompts and echo", async () => {
    const body = {
      model: "demo",
      prompt: ["Once upon", "1, 2, 3,"],
      temperature: 0,
      max_tokens: 4,
      echo: true,
    };
    const whole = await server.client.completions.create(body);
    const chunks = await collect(
      await server.client.completions.create({ ...body, stream: true, stream_options: { include_usage: true } }),
    );
    for (const { index, text, finish_reason } of whole.choices) {
      const own = chunks.flatMap(({ choices }) => choices).filter((choice) => choice.index === index);
      expect(own.map((choice) => choice.text).join("")).toBe(text);
      expect(text.startsWith(body.prompt[index]!)).toBe(true);
      expect(own.at(-1)!.finish_reason).toBe(finish_reason);
      expect(own.slice(0, -1).every((choice) => choice.finish_reason === null)).toBe(true);
    }
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { completion_tokens: whole.usage!.completion_tokens } });
    expect(new Set(chunks.map(({ id }) => id)).size).toBe(1);
    expect(chunks.every(({ object }) => object === "text_completion")).toBe(true);
  });
});

describe("the chunks of a chat", () => {
  test("share one head; the role is first, the finish reason last, each once", async () => {
    const chunks = await collect(await stream(server.client, "Count from 1 to 9."));
    const heads = chunks.map(({ id, created, model, object, system_fingerprint, service_tier }) =>
      JSON.stringify({ id, created, model, object, system_fingerprint, service_tier }),
    );
    expect(new Set(heads).size).toBe(1);
    expect(chunks[0]).toMatchObject({ object: "chat.completion.chunk", model: "demo", service_tier: "default" });
    expect(chunks[0]!.id).toMatch(/^chatcmpl-/);
    const choices = chunks.map((chunk) => chunk.choices[0]!);
    expect(choices[0]!.delta).toEqual({ role: "assistant", content: "" });
    expect(choices.slice(1).every(({ delta }) => delta.role === undefined)).toBe(true);
    expect(choices.map(({ finish_reason }) => finish_reason).filter(Boolean)).toEqual(["stop"]);
    expect(choices.at(-1)).toMatchObject({ delta: {}, finish_reason: "stop" });
    expect(chunks.every((chunk) => chunk.usage === undefined)).toBe(true);
    // Nineteen tokens arrive one by one, not as one block at the end.
    expect(chunks.length).toBeGreaterThan(15);
  });

  test("have usage null before the last one", async () => {
    const chunks = await collect(await stream(server.client, "Hello!", { stream_options: { include_usage: true } }));
    expect(chunks.slice(0, -1).every((chunk) => chunk.usage === null)).toBe(true);
    expect(chunks.at(-1)!.usage!.total_tokens).toBeGreaterThan(0);
    expect(chunks.at(-1)!.choices).toEqual([]);
  });

  test("are server-sent events that end with [DONE]", async () => {
    const response = await server.post("/v1/chat/completions", {
      ...{ model: "demo", messages: [{ role: "user", content: "Hello!" }], temperature: 0, stream: true },
    });
    expect(response.headers.get("content-type")).toMatch(/^text\/event-stream/);
    expect(response.headers.get("x-request-id")).toMatch(/^req_/);
    expect(Number(response.headers.get("openai-processing-ms"))).toBeGreaterThanOrEqual(0);
    const events = (await response.text()).split("\n\n");
    expect(events.splice(-2)).toEqual(["data: [DONE]", ""]);
    for (const event of events) expect(JSON.parse(event.replace(/^data: /, ""))).toHaveProperty("choices");
  });
});

test("a character of several tokens is never split over chunks", async () => {
  // The first 256 tokens are the bytes. Only the two bytes of é can be drawn.
  const [first, second] = [0xc3, 0xa9];
  const options = {
    logit_bias: { [first]: 100, [second]: 100 },
    temperature: 2,
    seed: 5,
    max_tokens: 40,
  };
  const whole = await complete(server.client, "Hello!", options);
  const text = textOf(await collect(await stream(server.client, "Hello!", options)));
  expect(text).toBe(whole.choices[0]!.message.content);
  expect(text).toMatch(/^[é\ufffd]+$/);
  expect(text.split("é").length).toBeGreaterThan(3);
});
