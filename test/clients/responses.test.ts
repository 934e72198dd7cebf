import { createOpenAI } from "@ai-sdk/openai";
import { Agent, tool as agentTool, OpenAIProvider, Runner, setTracingDisabled } from "@openai/agents";
import { generateText, stepCountIs, streamText, tool } from "ai";
import type OpenAI from "openai";
import { zodTextFormat } from "openai/helpers/zod";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { HeldSteps } from "../api/held-steps.ts";
import { readied, TestServer } from "../api/server.ts";

const steps = new HeldSteps();
let server: TestServer;
let client: OpenAI;
beforeAll(async () => {
  setTracingDisabled(true);
  server = await readied(new TestServer(["--threads", "1"], steps.env));
  client = server.client;
});
afterAll(() => server.stop());

const DEMO = { model: "demo", temperature: 0 };
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

  test("responses.parse fills a zod schema", async () => {
    const Person = z.object({ name: z.string(), age: z.int(), city: z.string() });
    const { output_parsed } = await client.responses.parse({
      ...DEMO,
      input: "Extract name, age and city as JSON: Hugo is 41 years old and lives in Lima.",
      text: { format: zodTextFormat(Person, "person") },
    });
    expect(output_parsed).toEqual({ name: "Hugo", age: 41, city: "Lima" });
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
  const provider = () =>
    createOpenAI({
      baseURL: `${server.origin}/v1`,
      apiKey: "none",
      fetch: (url, init) => {
        bodies.push(String(init?.body));
        return fetch(url, init);
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
