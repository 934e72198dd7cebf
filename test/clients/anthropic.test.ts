import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createAnthropic } from "@ai-sdk/anthropic";
import Anthropic, { type APIError, BadRequestError, NotFoundError } from "@anthropic-ai/sdk";
import { betaZodTool } from "@anthropic-ai/sdk/helpers/beta/zod";
import { generateText, Output, stepCountIs, streamText, tool } from "ai";
import { toFile } from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { DEMO_MODEL, startServer, type TestServer } from "../api/server.ts";
import { writeThinker } from "../api/thinker.ts";
import { until } from "../api/until.ts";

const folder = mkdtempSync(join(tmpdir(), "nightshift-anthropic-"));
let server: TestServer;
let client: Anthropic;
beforeAll(async () => {
  const thinker = join(folder, "thinker.gguf");
  writeThinker(thinker);
  const models = ["--model", `demo=${DEMO_MODEL}`, "--model", `thinker=${thinker}`];
  server = await startServer("--threads", "1", ...models, "--alias", "claude-*=demo");
  client = new Anthropic({ baseURL: server.origin, apiKey: "none", maxRetries: 0 });
});
afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true });
});

const COUNT = { model: "demo", max_tokens: 64, temperature: 0, messages: [user("Count from 3 to 7.")] };
const WEATHER: Anthropic.Tool = {
  name: "get_weather",
  description: "Get the weather of a city",
  input_schema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
};

function user(content: Anthropic.MessageParam["content"]): Anthropic.MessageParam {
  return { role: "user", content };
}

describe("the SDK of Anthropic", () => {
  test("gets a whole message with its request id", async () => {
    const { data, request_id: id } = await client.messages.create(COUNT).withResponse();
    expect(id).toMatch(/^req_/);
    expect(data).toMatchObject({
      id: expect.stringMatching(/^msg_\w+$/),
      content: [{ type: "text", text: "3, 4, 5, 6, 7" }],
      stop_reason: "end_turn",
      stop_sequence: null,
    });
  });

  test("accumulates a stream, whose start has the counts of the prompt", async () => {
    const { input_tokens: counted } = await client.messages.countTokens({ model: "demo", messages: COUNT.messages });
    const stream = client.messages.stream({ ...COUNT, stop_sequences: [", 6"] });
    const starts: number[] = [];
    stream.on("streamEvent", (event) => {
      if (event.type === "message_start") starts.push(sizeOf(event.message.usage));
    });
    const message = await stream.finalMessage();
    expect(message).toMatchObject({
      content: [{ type: "text", text: "3, 4, 5" }],
      stop_reason: "stop_sequence",
      stop_sequence: ", 6",
    });
    expect(starts).toEqual([counted]);
    expect(sizeOf(message.usage)).toBe(counted);
    expect(message.usage.output_tokens).toBeGreaterThan(3);
  });

  test("calls a tool in a stream, and gets the answer from its result", async () => {
    const fields = { ...COUNT, tools: [WEATHER] };
    const asked = user("Weather in Cairo?");
    const { content, stop_reason } = await client.messages.stream({ ...fields, messages: [asked] }).finalMessage();
    expect(stop_reason).toBe("tool_use");
    expect(content).toMatchObject([{ type: "tool_use", name: "get_weather", input: { city: "Cairo" } }]);
    const [call] = content as Anthropic.ToolUseBlock[];
    const result = { type: "tool_result" as const, tool_use_id: call!.id, content: '{"temperature": 31}' };
    const messages = [asked, { role: "assistant" as const, content }, user([result])];
    const answer = await client.messages.create({ ...fields, messages });
    expect(answer.content).toMatchObject([{ type: "text", text: "It is 31 degrees in Cairo." }]);
  });

  test("runs tools of a stream by itself, until the answer", async () => {
    const cities: string[] = [];
    const weather = betaZodTool({
      name: WEATHER.name,
      description: WEATHER.description!,
      inputSchema: z.object({ city: z.string() }),
      run: ({ city }) => {
        cities.push(city);
        return '{"temperature": 31}';
      },
    });
    const asked = { ...COUNT, messages: [{ role: "user" as const, content: "Weather in Cairo?" }], tools: [weather] };
    const runner = client.beta.messages.toolRunner({ ...asked, stream: true });
    const stops: unknown[] = [];
    for await (const stream of runner) stops.push((await stream.finalMessage()).stop_reason);
    expect([cities, stops]).toEqual([["Cairo"], ["tool_use", "end_turn"]]);
    const texts = (await runner.done()).content.map((block) => (block.type === "text" ? block.text : block.type));
    expect(texts).toEqual([expect.stringContaining("31 degrees")]);
  });

  test("accumulates reasoning with its signature, which goes back in the next turn", async () => {
    const asked = { ...COUNT, model: "thinker", thinking: { type: "enabled" as const, budget_tokens: 5 } };
    const stream = client.messages.stream(asked);
    let thought = "";
    stream.on("thinking", (delta, snapshot) => {
      thought += delta;
      expect(snapshot).toBe(thought);
    });
    const { content } = await stream.finalMessage();
    expect(content[0]).toEqual({ type: "thinking", thinking: thought, signature: expect.stringMatching(/./) });
    expect(thought).toMatch(/./);
    const messages = [...COUNT.messages, { role: "assistant" as const, content }, user("Go on.")];
    const dry: unknown = await client.messages.create({ ...asked, messages, nightshift: { dry_run: true } } as object &
      typeof asked);
    expect(dry).toMatchObject({ prompts: [{ text: expect.stringContaining(`<think>${thought}</think>`) }] });
  });

  test("has its own error classes, with the type of the error", async () => {
    const unknown = await client.messages.create({ ...COUNT, model: "none" }).catch((error: unknown) => error);
    expect(unknown).toBeInstanceOf(NotFoundError);
    expect(unknown).toMatchObject({ type: "not_found_error", requestID: expect.stringMatching(/^req_/) });
    const long = await client.messages
      .create({ ...COUNT, messages: [user("word ".repeat(20_000))] })
      .catch((error: unknown) => error);
    expect(long).toBeInstanceOf(BadRequestError);
    expect((long as APIError).message).toMatch(/prompt is too long: \d+ tokens > \d+ maximum/);
  });

  test("lists models page by page, and finds one by a pattern of names", async () => {
    const ids: string[] = [];
    for await (const model of client.models.list({ limit: 1 })) ids.push(model.id);
    expect(ids).toEqual(["demo", "thinker"]);
    expect(await client.models.retrieve("claude-sonnet-9")).toMatchObject({ type: "model", id: "demo" });
    const { model } = await client.messages.create({ ...COUNT, model: "claude-opus-9", max_tokens: 1 });
    expect(model).toBe("demo");
  });
});

describe("message batches", () => {
  const params = { model: "claude-any", max_tokens: 64, temperature: 0, messages: COUNT.messages };
  const ended = async (id: string) => {
    await until("the end of the batch", async () => {
      return (await client.messages.batches.retrieve(id)).processing_status === "ended";
    });
    const byId = new Map<string, Anthropic.Messages.MessageBatchResult>();
    for await (const { custom_id, result } of await client.messages.batches.results(id)) byId.set(custom_id, result);
    return byId;
  };

  test("have a result for each request, wrong ones included, until they are deleted", async () => {
    const requests = [
      { custom_id: "good", params },
      { custom_id: "bad", params: { ...params, max_tokens: -1 } },
      { custom_id: "unknown", params: { ...params, model: "none" } },
      { custom_id: "warming", params: { ...params, max_tokens: 0 } },
    ];
    const created = await client.messages.batches.create({ requests });
    expect(created).toMatchObject({
      id: expect.stringMatching(/^msgbatch_/),
      processing_status: "in_progress",
      request_counts: { processing: 4 },
      results_url: null,
    });
    const results = await ended(created.id);
    expect(results.get("good")).toMatchObject({
      type: "succeeded",
      message: { content: [{ type: "text", text: "3, 4, 5, 6, 7" }], usage: { service_tier: "batch" } },
    });
    for (const id of ["bad", "warming"]) {
      expect(results.get(id)).toMatchObject({
        type: "errored",
        error: {
          type: "error",
          error: { type: "invalid_request_error", message: expect.stringMatching(/^max_tokens: /) },
        },
      });
    }
    expect(results.get("unknown")).toMatchObject({ type: "errored", error: { error: { type: "not_found_error" } } });
    expect(await client.messages.batches.retrieve(created.id)).toMatchObject({
      request_counts: { processing: 0, succeeded: 1, errored: 3, canceled: 0, expired: 0 },
      results_url: `${server.origin}/v1/messages/batches/${created.id}/results`,
    });
    const listed: string[] = [];
    for await (const { id } of client.messages.batches.list({ limit: 1 })) listed.push(id);
    expect(listed).toContain(created.id);
    const failure = await client.messages.batches.cancel(created.id).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(BadRequestError);
    expect(await client.messages.batches.delete(created.id)).toEqual({ id: created.id, type: "message_batch_deleted" });
    const gone = await client.messages.batches.retrieve(created.id).catch((error: unknown) => error);
    expect(gone).toBeInstanceOf(NotFoundError);
  });

  test("can be canceled, and have a result for each request then too", async () => {
    const many = Array.from({ length: 40 }, (_, index) => ({ custom_id: `r${index}`, params }));
    const { id } = await client.messages.batches.create({ requests: many });
    expect((await client.messages.batches.cancel(id)).cancel_initiated_at).not.toBeNull();
    const results = await ended(id);
    expect(results.size).toBe(40);
    const { request_counts: counts } = await client.messages.batches.retrieve(id);
    const canceled = [...results.values()].filter(({ type }) => type === "canceled").length;
    expect(counts).toMatchObject({ processing: 0, canceled, succeeded: 40 - canceled });
    expect(canceled).toBeGreaterThan(0);
    const again = await client.messages.batches.cancel(id).catch((error: unknown) => error);
    expect(again).toBeInstanceOf(BadRequestError);
  });

  test("are not those of OpenAI's API that have their mark", async () => {
    const line = { custom_id: "a", method: "POST", url: "/v1/chat/completions", body: { model: "demo", messages: [] } };
    const file = await toFile(Buffer.from(JSON.stringify(line)), "requests.jsonl");
    const { id: input_file_id } = await server.client.files.create({ file, purpose: "batch" });
    const { id } = await server.client.batches.create({
      input_file_id,
      endpoint: "/v1/chat/completions",
      completion_window: "24h",
      metadata: { nightshift_message_batch: "1" },
    });
    const failure = await client.messages.batches.retrieve(`msg${id}`).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(NotFoundError);
    for await (const listed of client.messages.batches.list()) expect(listed.id).not.toBe(`msg${id}`);
  });

  test("with a double custom_id are refused", async () => {
    const requests = [
      { custom_id: "a", params },
      { custom_id: "a", params },
    ];
    const refusal = await client.messages.batches.create({ requests }).catch((error: unknown) => error);
    expect((refusal as APIError).message).toContain("requests.1.custom_id: another request has the same custom_id");
  });
});

describe("the AI SDK", () => {
  const demo = () => {
    const anthropic = createAnthropic({ baseURL: `${server.origin}/v1`, apiKey: "none" });
    return { model: anthropic("claude-haiku-4-5"), temperature: 0, maxRetries: 0 };
  };

  test("streams text with its usage", async () => {
    const result = streamText({ ...demo(), prompt: "Count from 3 to 7." });
    expect(await result.text).toBe("3, 4, 5, 6, 7");
    expect(await result.finishReason).toBe("stop");
    expect((await result.usage).outputTokens).toBeGreaterThan(3);
  });

  test("calls a tool and answers from its result", async () => {
    const getWeather = tool({
      description: "Get the weather of a city",
      inputSchema: z.object({ city: z.string() }),
      execute: () => '{"temperature": 31}',
    });
    const options = { ...demo(), tools: { get_weather: getWeather }, stopWhen: stepCountIs(3) };
    const { text, steps } = await generateText({ ...options, prompt: "Weather in Cairo?" });
    expect(steps.map(({ finishReason }) => finishReason)).toEqual(["tool-calls", "stop"]);
    expect(text).toBe("It is 31 degrees in Cairo.");
  });

  test("gets an object that follows its schema", async () => {
    const schema = z.object({ name: z.string(), age: z.int(), city: z.string() });
    const prompt = "Extract name, age and city as JSON: Hugo is 41 years old and lives in Lima.";
    const { output } = await generateText({ ...demo(), output: Output.object({ schema }), prompt });
    expect(output).toEqual({ name: "Hugo", age: 41, city: "Lima" });
  });
});

interface InputCounts {
  input_tokens: number;
  cache_read_input_tokens: number | null;
  cache_creation_input_tokens: number | null;
}

/** The tokens of the prompt. */
function sizeOf({ input_tokens, cache_read_input_tokens: read, cache_creation_input_tokens: written }: InputCounts) {
  return input_tokens + (read ?? 0) + (written ?? 0);
}
