import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createOpenAI } from "@ai-sdk/openai";
import { Agent, tool as agentTool, OpenAIProvider, Runner, setTracingDisabled } from "@openai/agents";
import { generateText, type ModelMessage, stepCountIs, streamText, tool } from "ai";
import type OpenAI from "openai";
import { zodTextFormat } from "openai/helpers/zod";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { HeldSteps } from "../api/held-steps.ts";
import { DEMO_MODEL, readied, TestServer } from "../api/server.ts";
import { writeThinker } from "../api/thinker.ts";

const steps = new HeldSteps();
const folder = mkdtempSync(join(tmpdir(), "nightshift-responses-"));
let server: TestServer;
let client: OpenAI;
beforeAll(async () => {
  setTracingDisabled(true);
  const thinker = join(folder, "thinker.gguf");
  writeThinker(thinker);
  const models = ["--model", `demo=${DEMO_MODEL}`, "--model", `thinker=${thinker}`];
  server = await readied(new TestServer(["--threads", "1", ...models], steps.env));
  client = server.client;
});
afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true });
});

const DEMO = { model: "demo", temperature: 0 };
/** A model that reasons, and the tokens after which it has to answer. */
const THINKER = { model: "thinker", temperature: 0, thinking_token_budget: 5, max_output_tokens: 24 };
const WEATHER = "Get the weather of a city";
/** As text, with the space that the demo model was trained on. */
const HOT = '{"temperature": 31}';
const CAIRO = "It is 31 degrees in Cairo.";

describe("openai", () => {
  test("a conversation goes on from a stored response, which can be read and deleted", async () => {
    const first = await client.responses.create({ ...DEMO, input: "Weather in Cairo?", metadata: { turn: "1" } });
    const { id } = first;
    const { output_text: _, ...stored } = await client.responses.retrieve(id);
    expect(first).toMatchObject(stored);
    const second = { ...DEMO, input: "Capital of France?", previous_response_id: id };
    const next = await client.responses.create(second);
    expect(next.output_text).toBe("The capital of France is Paris.");
    expect(next.usage!.input_tokens_details.cached_tokens).toBeGreaterThanOrEqual(first.usage!.input_tokens);
    const items = await client.responses.inputItems.list(next.id, { order: "asc" });
    expect(items.data).toMatchObject([{ role: "user" }, { id: first.output[0]!.id }, { role: "user" }]);
    await client.responses.delete(id);
    const missing = { status: 404, type: "invalid_request_error" };
    await expect(client.responses.retrieve(id)).rejects.toMatchObject(missing);
    const gone = { status: 400, code: "previous_response_not_found", param: "previous_response_id" };
    await expect(client.responses.create(second)).rejects.toMatchObject(gone);
    expect((await client.responses.inputItems.list(next.id)).data).toHaveLength(3);
  });

  test("a conversation gets the items of its responses, one response at a time", async () => {
    const { id: conversation } = await client.conversations.create({ items: [{ role: "user", content: "Hello!" }] });
    steps.allow(5);
    const stream = await client.responses.create({ ...DEMO, input: "Count from 3 to 12.", conversation, stream: true });
    const reading = stream[Symbol.asyncIterator]();
    await reading.next();
    const locked = { status: 400, code: "conversation_locked", param: "conversation" };
    const question = { ...DEMO, input: "Capital of France?", conversation, store: false };
    await expect(client.responses.create(question)).rejects.toMatchObject(locked);
    steps.release();
    while (!(await reading.next()).done);
    expect((await client.responses.create(question)).output_text).toBe("The capital of France is Paris.");
    const { data } = await client.conversations.items.list(conversation, { order: "asc" });
    expect(data.map((item) => (item.type === "message" ? item.role : item.type))).toEqual([
      "user",
      "user",
      "assistant",
      "user",
      "assistant",
    ]);
  });

  test("responses.stream streams text and builds the final response", async () => {
    const stream = client.responses.stream({ ...DEMO, input: "Count from 3 to 12." });
    let text = "";
    stream.on("response.output_text.delta", ({ delta, snapshot }) => {
      text += delta;
      expect(snapshot).toBe(text);
    });
    const response = await stream.finalResponse();
    expect(text).toBe("3, 4, 5, 6, 7, 8, 9, 10, 11, 12");
    expect(response).toMatchObject({ status: "completed", output_text: text });
  });

  test("responses.parse and responses.stream fill a zod schema", async () => {
    const Person = z.object({ name: z.string(), age: z.int(), city: z.string() });
    const asked = {
      ...DEMO,
      input: "Extract name, age and city as JSON: Hugo is 41 years old and lives in Lima.",
      text: { format: zodTextFormat(Person, "person") },
    };
    const whole = await client.responses.parse(asked);
    const streamed = await client.responses.stream(asked).finalResponse();
    for (const { output_parsed } of [whole, streamed]) {
      expect(output_parsed).toEqual({ name: "Hugo", age: 41, city: "Lima" });
    }
  });

  test("responses.stream builds reasoning of its deltas, which goes back sealed", async () => {
    const input: OpenAI.Responses.ResponseInput = [{ role: "user", content: "Hello!" }];
    const asked = { ...THINKER, store: false, include: ["reasoning.encrypted_content" as const] };
    const stream = client.responses.stream({ ...asked, input, reasoning: { summary: "auto" } });
    let text = "";
    let summary = "";
    stream.on("response.reasoning_text.delta", ({ delta }) => {
      text += delta;
    });
    stream.on("response.reasoning_summary_text.delta", ({ delta }) => {
      summary += delta;
    });
    const { output } = await stream.finalResponse();
    expect(output[0]).toMatchObject({ type: "reasoning", content: [{ text }], summary: [{ text: summary }] });
    expect([text.length > 0, summary]).toEqual([true, text]);
    const sealed = output.map((item) => (item.type === "reasoning" ? { ...item, content: [], summary: [] } : item));
    input.push(...(sealed as OpenAI.Responses.ResponseInputItem[]), { role: "user", content: "Go on." });
    const dry: unknown = await client.responses.create({ ...asked, input, nightshift: { dry_run: true } } as object);
    expect(dry).toMatchObject({ prompts: [{ text: expect.stringContaining(`<think>${text}</think>`) }] });
  });

  test("a loop of streamed tool calls ends with an answer", async () => {
    const parameters = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
    const tools = [{ type: "function" as const, name: "get_weather", description: WEATHER, parameters, strict: false }];
    const input: OpenAI.Responses.ResponseInput = [{ role: "user", content: "Weather in Cairo?" }];
    for (let round = 0; round < 3; round++) {
      const { output, output_text } = await client.responses.stream({ ...DEMO, input, tools }).finalResponse();
      const calls = output.filter((item) => item.type === "function_call");
      if (calls.length === 0) return expect(output_text).toBe(CAIRO);
      for (const { call_id, name, arguments: args } of calls) {
        expect(JSON.parse(args)).toEqual({ city: "Cairo" });
        input.push({ type: "function_call", call_id, name, arguments: args });
        input.push({ type: "function_call_output", call_id, output: HOT });
      }
    }
    throw new Error("the loop did not end");
  });
});

// With the store, which is its default, it sends earlier messages as references to stored items.
describe.each([true, false])("the AI SDK's own provider of OpenAI, with store: %s", (store) => {
  const bodies: string[] = [];
  /** With fields that the provider itself does not send. */
  const provider = (fields: object = {}) =>
    createOpenAI({
      baseURL: `${server.origin}/v1`,
      apiKey: "none",
      fetch: (url, init) => {
        const body = JSON.stringify({ ...JSON.parse(String(init?.body)), ...fields });
        bodies.push(body);
        return fetch(url, { ...init, body });
      },
    });
  const demo = () => ({
    model: provider()("demo"),
    temperature: 0,
    maxRetries: 0,
    providerOptions: { openai: { store } },
  });
  const tools = {
    get_weather: tool({
      description: WEATHER,
      inputSchema: z.object({ city: z.string() }),
      execute: () => HOT,
    }),
  };

  test("streamText continues a conversation in a second turn", async () => {
    const first = streamText({ ...demo(), prompt: "Count from 3 to 7." });
    let text = "";
    for await (const piece of first.textStream) text += piece;
    expect(text).toBe("3, 4, 5, 6, 7");
    expect(await first.finishReason).toBe("stop");
    expect((await first.usage).outputTokens).toBeGreaterThan(5);
    const { messages } = await first.response;
    const second = await generateText({
      ...demo(),
      messages: [
        { role: "user", content: "Count from 3 to 7." },
        ...messages,
        { role: "user", content: "Capital of France?" },
      ],
    });
    expect(second.text).toBe("The capital of France is Paris.");
    expect(bodies.at(-1)!.includes('"item_reference"')).toBe(store);
  });

  test("streamText has the reasoning, and sends it back with the next turn", async () => {
    const openai = { store, forceReasoning: true, reasoningSummary: "auto" };
    const asked = { model: provider(THINKER)("thinker"), maxRetries: 0, providerOptions: { openai } };
    const first = streamText({ ...asked, prompt: "Hello!" });
    const reasoning = await first.reasoningText;
    expect(reasoning).toMatch(/./);
    const { messages } = await first.response;
    const next: ModelMessage[] = [
      { role: "user", content: "Hello!" },
      ...messages,
      { role: "user", content: "Go on." },
    ];
    await generateText({ ...asked, messages: next });
    const { input }: { input: Record<string, unknown>[] } = JSON.parse(bodies.at(-1)!);
    if (store) expect(input).toContainEqual({ type: "item_reference", id: expect.stringMatching(/^rs_/) });
    else expect(input).toContainEqual(expect.objectContaining({ encrypted_content: expect.any(String) }));
  });

  test.each(["generateText", "streamText"])("%s calls the tool and answers from its result", async (how) => {
    const options = { ...demo(), tools, stopWhen: stepCountIs(3), prompt: "Weather in Cairo?" };
    const result = how === "generateText" ? await generateText(options) : streamText(options);
    expect(await result.text).toBe(CAIRO);
    expect((await result.steps).map(({ finishReason }) => finishReason)).toEqual(["tool-calls", "stop"]);
  });
});

describe.each([
  ["responses", true],
  ["chat completions", false],
])("OpenAI's agents over %s", (_, useResponses) => {
  const runner = () =>
    new Runner({
      modelProvider: new OpenAIProvider({ openAIClient: client, useResponses }),
      modelSettings: { temperature: 0, store: false },
    });
  const weather = agentTool({
    name: "get_weather",
    description: WEATHER,
    parameters: z.object({ city: z.string() }),
    execute: () => HOT,
  });

  test("an agent calls its tool and answers", async () => {
    const agent = new Agent({ name: "weather", model: "demo", tools: [weather] });
    const { finalOutput } = await runner().run(agent, "Weather in Cairo?");
    expect(finalOutput).toBe(CAIRO);
  });

  test("an agent hands off to another one", async () => {
    const counter = new Agent({ name: "counter", model: "demo" });
    const desk = new Agent({
      name: "desk",
      model: "demo",
      handoffs: [counter],
      modelSettings: { toolChoice: "required" },
    });
    const stream = await runner().run(desk, "Count from 3 to 7.", { stream: true });
    await stream.completed;
    expect(stream.lastAgent?.name).toBe("counter");
    expect(stream.finalOutput).toEqual(expect.any(String));
  });
});
