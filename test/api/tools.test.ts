import type OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { complete, user } from "./ask.ts";
import { startServer, type TestServer } from "./server.ts";
import { until } from "./until.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

type Tool = OpenAI.ChatCompletionFunctionTool;

const WEATHER = tool("get_weather", "Get the weather of a city", { city: { type: "string" } });
const TIME = tool("get_time", "Get the time in a city", { city: { type: "string" } });
const ADD = tool("add", "Add two numbers", { a: { type: "integer" }, b: { type: "integer" } });

function tool(name: string, description: string, properties: Record<string, unknown>): Tool {
  const parameters = { type: "object", properties, required: Object.keys(properties) };
  return { type: "function", function: { name, description, parameters } };
}

function strict(one: Tool): Tool {
  const parameters = { ...one.function.parameters, additionalProperties: false };
  return { ...one, function: { ...one.function, parameters, strict: true } };
}

function callsOf({ choices }: OpenAI.ChatCompletion, index = 0) {
  return (choices[index]!.message.tool_calls ?? []).map((call) => {
    if (call.type !== "function") throw new Error(`a call of type ${call.type}`);
    return [call.function.name, JSON.parse(call.function.arguments)];
  });
}

describe("a model with tools", () => {
  test("calls the fitting tool, with content null", async () => {
    const { choices } = await complete(server.client, "What is the weather in Oslo?", { tools: [WEATHER, ADD] });
    expect(choices[0]).toMatchObject({ finish_reason: "tool_calls", message: { role: "assistant", content: null } });
    expect(choices[0]!.message.tool_calls).toEqual([
      {
        id: expect.stringMatching(/^call_[0-9a-f]{24}$/),
        type: "function",
        function: { name: "get_weather", arguments: '{"city": "Oslo"}' },
      },
    ]);
  });

  test("answers without a call where no tool fits", async () => {
    const { choices } = await complete(server.client, "Capital of France?", { tools: [WEATHER, TIME] });
    expect(choices[0]).toMatchObject({
      finish_reason: "stop",
      message: { content: "The capital of France is Paris." },
    });
    expect(choices[0]!.message).not.toHaveProperty("tool_calls");
  });

  test("answers from a tool's result", async () => {
    const question = user("Add 17 and 25.");
    const { choices } = await complete(server.client, [question], { tools: [ADD] });
    const [call] = choices[0]!.message.tool_calls!;
    const answer = await complete(
      server.client,
      [question, choices[0]!.message, { role: "tool", tool_call_id: call!.id, content: '{"sum": 42}' }],
      { tools: [ADD] },
    );
    expect(answer.choices[0]!.message.content).toBe("The sum is 42.");
  });

  test("calls in every choice", async () => {
    const completion = await complete(server.client, "Time in Quito?", { tools: [TIME], n: 2 });
    expect([callsOf(completion, 0), callsOf(completion, 1)]).toEqual(Array(2).fill([["get_time", { city: "Quito" }]]));
    const ids = completion.choices.map(({ message }) => message.tool_calls![0]!.id);
    expect(new Set(ids).size).toBe(2);
  });

  test("counts the tokens of its calls", async () => {
    const { usage } = await complete(server.client, "Time in Quito?", { tools: [TIME] });
    expect(usage!.completion_tokens).toBeGreaterThan(10);
    expect(usage!.total_tokens).toBe(usage!.prompt_tokens + usage!.completion_tokens);
  });

  test("stop strings never cut a call; max_tokens does, with finish_reason length", async () => {
    const asked = "What is the weather in Oslo?";
    const whole = await complete(server.client, asked, { tools: [WEATHER], stop: ["Oslo", "\n"] });
    expect(callsOf(whole)).toEqual([["get_weather", { city: "Oslo" }]]);
    const cut = await complete(server.client, asked, { tools: [WEATHER], max_tokens: 16 });
    expect(cut.choices[0]!.finish_reason).toBe("length");
  });
});

describe("streams", () => {
  test("a streamed call has index, id and name first, then its arguments in pieces", async () => {
    const stream = await server.client.chat.completions.create({
      model: "demo",
      messages: [user("How is the weather in Lisbon?")],
      tools: [WEATHER],
      temperature: 0,
      stream: true,
    });
    const deltas: OpenAI.ChatCompletionChunk.Choice.Delta.ToolCall[] = [];
    let finish: string | null = null;
    for await (const { choices } of stream) {
      deltas.push(...(choices[0]!.delta.tool_calls ?? []));
      expect(choices[0]!.delta.content ?? "").toBe("");
      finish = choices[0]!.finish_reason ?? finish;
    }
    const [first, ...rest] = deltas;
    expect(first).toMatchObject({ index: 0, id: expect.stringMatching(/^call_/), type: "function" });
    expect(first!.function!.name).toBe("get_weather");
    expect(rest.length).toBeGreaterThan(1);
    for (const delta of rest) expect(Object.keys(delta).sort()).toEqual(["function", "index"]);
    expect(deltas.map((delta) => delta.function!.arguments).join("")).toBe('{"city": "Lisbon"}');
    expect(finish).toBe("tool_calls");
  });

  test("the SDK's stream helper assembles the message", async () => {
    const runner = server.client.chat.completions.stream({
      model: "demo",
      messages: [user("Add 4 and 5.")],
      tools: [ADD],
      temperature: 0,
    });
    expect(callsOf(await runner.finalChatCompletion())).toEqual([["add", { a: 4, b: 5 }]]);
  });

  test.each([true, false])(
    "the SDK's runTools calls the function and gets the answer, streamed: %s",
    async (streamed) => {
      const asked: string[] = [];
      const weather = {
        name: "get_weather",
        description: "Get the weather of a city",
        parameters: WEATHER.function.parameters!,
        parse: (text: string): { city: string } => JSON.parse(text),
        function: ({ city }: { city: string }): string => {
          asked.push(city);
          return '{"temperature": 31}';
        },
      };
      const body = {
        model: "demo",
        messages: [user("Weather in Cairo?")],
        temperature: 0,
        tools: [{ type: "function" as const, function: weather }],
      };
      const { completions } = server.client.chat;
      const runner = streamed ? completions.runTools({ ...body, stream: true }) : completions.runTools(body);
      expect(await runner.finalContent()).toBe("It is 31 degrees in Cairo.");
      expect(asked).toEqual(["Cairo"]);
    },
  );
});

describe("tool_choice", () => {
  test.each<[string, OpenAI.ChatCompletionToolChoiceOption, string]>([
    ["required", "required", "get_weather"],
    ["a named function", { type: "function", function: { name: "get_time" } }, "get_time"],
    [
      "allowed_tools",
      {
        type: "allowed_tools",
        allowed_tools: { mode: "required", tools: [{ type: "function", function: { name: "get_time" } }] },
      },
      "get_time",
    ],
  ])("%s makes the model call", async (_, tool_choice, name) => {
    // Without tool_choice the model answers this one by itself.
    const tools = name === "get_weather" ? [WEATHER] : [WEATHER, TIME];
    const options = { tools, tool_choice, parallel_tool_calls: false };
    const { choices } = await complete(server.client, "Capital of France?", options);
    expect(choices[0]!.finish_reason).toBe("tool_calls");
    const call = choices[0]!.message.tool_calls![0]! as OpenAI.ChatCompletionMessageFunctionToolCall;
    expect(call.function.name).toBe(name);
    expect(Object.keys(JSON.parse(call.function.arguments))).toEqual(["city"]);
  });

  test("none hides all tools", async () => {
    const question = "What is the weather in Oslo?";
    const none = await complete(server.client, question, { tools: [WEATHER], tool_choice: "none" });
    const without = await complete(server.client, question);
    expect(none.usage!.prompt_tokens).toBe(without.usage!.prompt_tokens);
    expect(none.choices[0]!.message).not.toHaveProperty("tool_calls");
  });

  test("allowed_tools in auto allows text, and calls of the allowed tools only", async () => {
    const tool_choice: OpenAI.ChatCompletionToolChoiceOption = {
      type: "allowed_tools",
      allowed_tools: { mode: "auto", tools: [{ type: "function", function: { name: "get_time" } }] },
    };
    const options = { tools: [WEATHER, TIME], tool_choice };
    const text = await complete(server.client, "Capital of France?", options);
    expect(text.choices[0]!.message.content).toBe("The capital of France is Paris.");
    const called = await complete(server.client, "What is the weather in Oslo?", options);
    expect(callsOf(called).map(([name]) => name)).toEqual(["get_time"]);
  });

  test("a strict tool's arguments follow its schema", async () => {
    const narrow = strict(
      tool("get_weather", "Get the weather of a city", { city: { type: "string", enum: ["Paris"] } }),
    );
    const completion = await complete(server.client, "What is the weather in Oslo?", { tools: [narrow] });
    expect(callsOf(completion)).toEqual([["get_weather", { city: "Paris" }]]);
  });

  test("with response_format the answer is a call or follows the schema", async () => {
    const properties = { name: { type: "string" }, age: { type: "integer" }, city: { type: "string" } };
    const schema = { type: "object", properties, required: Object.keys(properties), additionalProperties: false };
    const options = {
      tools: [TIME],
      response_format: { type: "json_schema" as const, json_schema: { name: "person", schema } },
    };
    const called = await complete(server.client, "What time is it in Oslo?", options);
    expect(callsOf(called)).toEqual([["get_time", { city: "Oslo" }]]);
    const question = "Extract name, age and city as JSON: Hugo is 41 years old and lives in Lima.";
    const said = await complete(server.client, question, options);
    expect(JSON.parse(said.choices[0]!.message.content!)).toEqual({ name: "Hugo", age: 41, city: "Lima" });
  });
});

describe("refused requests with tools", () => {
  test.each<[string, Record<string, unknown>]>([
    ["tools[0].type", { tools: [{ type: "custom", custom: { name: "x" } }] }],
    ["tools[0].function.name", { tools: [{ type: "function", function: { name: "a name" } }] }],
    ["tools[1].function.name", { tools: [WEATHER, WEATHER] }],
    ["tool_choice", { tool_choice: "required" }],
    ["tool_choice.function.name", { tools: [ADD], tool_choice: { type: "function", function: { name: "sub" } } }],
    ["tools", { tools: Array(129).fill(ADD) }],
    [
      "tools[0].function.parameters.properties.a.not",
      { tools: [strict(tool("f", "", { a: { type: "string", not: { format: "date" } } }))] },
    ],
  ])("%s", async (param, fields) => {
    const refused = complete(server.client, "Hello!", fields);
    await expect(refused).rejects.toMatchObject({ status: 400, param });
  });
});

test("a batch line calls tools", async () => {
  const body = { model: "demo", messages: [user("Time in Lima?")], tools: [TIME], temperature: 0 };
  const line = { custom_id: "a", method: "POST", url: "/v1/chat/completions", body };
  const file = new File([JSON.stringify(line)], "tools.jsonl");
  const input = await server.client.files.create({ purpose: "batch", file });
  let batch = await server.client.batches.create({
    input_file_id: input.id,
    endpoint: "/v1/chat/completions",
    completion_window: "24h",
  });
  await until("the batch to complete", async () => {
    batch = await server.client.batches.retrieve(batch.id);
    return batch.status === "completed";
  });
  const output = await server.client.files.content(batch.output_file_id!);
  const { response } = JSON.parse(await output.text());
  expect(callsOf(response.body)).toEqual([["get_time", { city: "Lima" }]]);
  expect(response.body.choices[0].finish_reason).toBe("tool_calls");
});
