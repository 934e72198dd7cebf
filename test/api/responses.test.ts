import type OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { responseObject } from "../../openapi/responses/response.ts";
import { failure } from "./failure.ts";
import { OVER_UPSTREAM, startServer, type TestServer } from "./server.ts";
import { until } from "./until.ts";

let server: TestServer;
let client: OpenAI;
beforeAll(async () => {
  server = await startServer("--threads", "1", "--context", "512");
  client = server.client;
});
afterAll(() => server.stop());

type Body = OpenAI.Responses.ResponseCreateParamsNonStreaming;
const DEMO = { model: "demo", temperature: 0 };

function respond(fields: object): Promise<OpenAI.Responses.Response> {
  return client.responses.create({ ...DEMO, ...fields } as Body);
}

const CITY = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const WEATHER = { type: "function", name: "get_weather", description: "Get the weather of a city", parameters: CITY };
const TIME = { type: "function", name: "get_time", description: "Get the time in a city", parameters: CITY };
const PARIS = "The capital of France is Paris.";
const user = (content: unknown) => ({ role: "user", content });

describe("a response", () => {
  test("has every key, on the wire without the SDK's own", async () => {
    const answer = await server.post("/v1/responses", { ...DEMO, input: "Capital of France?", user: "u" });
    const body: unknown = await answer.json();
    const response = responseObject.strict().parse(body);
    expect(response).toEqual(body);
    expect(response.output).toMatchObject([{ type: "message", content: [{ type: "output_text", text: PARIS }] }]);
    expect(answer.headers.get("x-nightshift-ignored")).toBe("user");
  });

  test.each<[string, object]>([
    ["a text", { input: "Capital of France?" }],
    ["an item without a type", { input: [user("Capital of France?")] }],
    ["parts", { input: [{ type: "message", ...user([{ type: "input_text", text: "Capital of France?" }]) }] }],
    ["earlier turns", { input: [user("Hello!"), { role: "assistant", content: "Hi." }, user("Capital of France?")] }],
    [
      "input_text of an assistant, empty reasoning and hosted items",
      {
        input: [
          user("Hello!"),
          { type: "reasoning", id: "rs_1", summary: [] },
          { type: "web_search_call", id: "ws_1", status: "completed" },
          { role: "assistant", content: [{ type: "input_text", text: "Hi." }] },
          { type: "message", role: "assistant", content: null },
          user("Capital of France?"),
        ],
      },
    ],
    [
      "a call whose output is null",
      {
        input: [
          user("Hello!"),
          { type: "function_call", call_id: "call_1", name: "get_time", arguments: "{}" },
          { type: "function_call_output", call_id: "call_1", output: null },
          user("Capital of France?"),
        ],
      },
    ],
    ["tools of unknown types", { input: "Capital of France?", tools: [{ type: "local_shell" }, TIME] }],
    ["unknown includes", { input: "Capital of France?", include: ["file_search_call.results"], store: false }],
  ])("is made of %s", async (_, fields) => {
    expect((await respond(fields)).output_text).toBe(PARIS);
  });

  test("reads system and developer messages, and instructions", async () => {
    const input = [{ role: "developer", content: "Be brief." }, user("Capital of France?")];
    const { output_text, instructions } = await respond({ input, instructions: "You are a demo." });
    expect(output_text).toBe(PARIS);
    expect(instructions).toBe("You are a demo.");
  });

  test("is incomplete when max_output_tokens cut it short", async () => {
    const cut = await respond({ input: "Count from 3 to 12.", max_output_tokens: 4 });
    expect(cut).toMatchObject({
      status: "incomplete",
      completed_at: null,
      incomplete_details: { reason: "max_output_tokens" },
      output: [{ type: "message", status: "incomplete" }],
      usage: { output_tokens: 4, input_tokens_details: { cached_tokens: expect.any(Number) } },
    });
  });

  test("has log probabilities by include or top_logprobs", async () => {
    const bare = await respond({ input: "Capital of France?", include: ["message.output_text.logprobs"] });
    const ranked = await respond({ input: "Capital of France?", top_logprobs: 2 });
    const logprobs = ({ output: [item] }: OpenAI.Responses.Response) =>
      item?.type === "message" && item.content[0]?.type === "output_text" ? item.content[0].logprobs! : [];
    expect(
      logprobs(bare)
        .map(({ token }) => token)
        .join(""),
    ).toBe(PARIS);
    expect(logprobs(ranked)[0]!.top_logprobs).toHaveLength(2);
  });

  test("follows text.format, also of a schema without a name", async () => {
    const properties = { name: { type: "string" }, age: { type: "integer" }, city: { type: "string" } };
    const schema = { type: "object", properties, required: Object.keys(properties), additionalProperties: false };
    const input = "Extract name, age and city as JSON: Hugo is 41 years old and lives in Lima.";
    const named = await respond({ input, text: { format: { type: "json_schema", name: "person", schema } } });
    expect(JSON.parse(named.output_text)).toEqual({ name: "Hugo", age: 41, city: "Lima" });
    expect(named.text).toMatchObject({ format: { type: "json_schema", name: "person", schema } });
    for (const format of [{ type: "json_schema" }, { type: "json_object" }]) {
      const any = await respond({ input, text: { format }, max_output_tokens: 100 });
      expect(any.output_text).toMatch(/^\{/);
    }
  });

  test.skipIf(OVER_UPSTREAM)("takes extensions, and a dry run generates nothing", async () => {
    const input = "Count from 3 to 12.";
    const stopped = await respond({ input, stop: "6", seed: 1, top_k: 5, presence_penalty: 0.5 });
    expect(stopped.output_text).not.toContain("6");
    expect(stopped).toMatchObject({ presence_penalty: 0.5, status: "completed" });
    const dry: unknown = await respond({ input, nightshift: { dry_run: true } });
    expect(dry).toMatchObject({ object: "nightshift.dry_run", prompts: [{ text: expect.stringContaining(input) }] });
  });
});

describe("tools", () => {
  test("a call's output continues the turn, in the order of the calls", async () => {
    const input: object[] = [user("What is the weather in Oslo?")];
    const first = await respond({ input, tools: [WEATHER] });
    expect(first.output).toMatchObject([
      { type: "function_call", name: "get_weather", status: "completed", call_id: expect.stringMatching(/^call_/) },
    ]);
    const [call] = first.output;
    if (call?.type !== "function_call") throw new Error("no call");
    const output = { type: "function_call_output", call_id: call.call_id, output: '{"temperature": 31}' };
    const second = await respond({ input: [...input, call, output], tools: [WEATHER] });
    expect(second.output_text).toBe("It is 31 degrees in Oslo.");
  });

  test("tool_choice and allowed_tools restrict the calls", async () => {
    const tools = [WEATHER, TIME];
    const forced = { type: "function", name: "get_time" };
    const allowed = { type: "allowed_tools", mode: "required", tools: [forced] };
    for (const tool_choice of [forced, allowed]) {
      const { output } = await respond({ input: "What is the weather in Oslo?", tools, tool_choice });
      expect(output).toMatchObject([{ type: "function_call", name: "get_time" }]);
    }
    const none = await respond({ input: "What is the weather in Oslo?", tools, tool_choice: "none" });
    expect(none.output.map(({ type }) => type)).toEqual(["message"]);
  });

  test("a custom tool gets free text, whole and streamed, and its output goes back", async () => {
    const tools = [{ type: "custom", name: "note", description: "Write a note", format: { type: "text" } }];
    const asked = { ...DEMO, input: "Hello!", tools, tool_choice: { type: "custom", name: "note" } } as const;
    const bounded = { ...asked, max_output_tokens: 64 } as unknown as Body;
    const whole = await client.responses.create(bounded);
    const streamed = await client.responses.stream(bounded as object).finalResponse();
    for (const { output } of [whole, streamed]) {
      expect(output).toMatchObject([{ type: "custom_tool_call", name: "note", input: expect.any(String) }]);
    }
    const call = { type: "custom_tool_call", call_id: "call_1", name: "note", input: 'a "b"' };
    const result = { type: "custom_tool_call_output", call_id: "call_1", output: "ok" };
    expect((await respond({ input: [user("Hi"), call, result, user("Capital of France?")], tools })).status).toBe(
      "completed",
    );
  });
});

describe("refused requests", () => {
  test.each<[string, object, string | null]>([
    ["input", { input: undefined }, "missing_required_parameter"],
    ["input", { input: [] }, "invalid_value"],
    ["input", { input: [{ type: "function_call_output", call_id: "c", output: "x" }] }, null],
    ["input", { input: [{ type: "function_call", call_id: "c", name: "f", arguments: "{}" }] }, null],
    ["input[0].type", { input: [{ type: "massage", content: "x" }] }, "invalid_value"],
    ["input[0].content[0]", { input: [user([{ type: "input_image", image_url: "x" }])] }, "unsupported_value"],
    ["input", { input: [{ type: "compaction", encrypted_content: "x" }, user("hi")] }, "invalid_value"],
    ["input[0]", { input: [{ type: "compaction_trigger" }, user("hi")] }, "invalid_value"],
    ["input[1]", { background: true, input: [user("hi"), { type: "compaction_trigger" }] }, "unsupported_value"],
    ["tools[0]", { tools: [{ type: "function", function: { name: "f" } }] }, "invalid_value"],
    ["tools", { tools: [TIME, TIME] }, "invalid_value"],
    ["tool_choice.type", { tool_choice: { type: "web_search_preview" } }, "invalid_value"],
    ["tool_choice", { tool_choice: "required", tools: [{ type: "local_shell" }] }, "invalid_value"],
    ["tool_choice.name", { tool_choice: { type: "function", name: "f" }, tools: [TIME] }, "invalid_value"],
    ["background", { background: 1 }, "invalid_type"],
    ["store", { background: true, store: false }, "unsupported_value"],
    ["conversation", { conversation: "c", previous_response_id: "r" }, "invalid_value"],
    ["n", { n: 2 }, "unsupported_value"],
    ["prompt", { prompt: { id: "p" } }, "unsupported_parameter"],
    ["context_management", { background: true, context_management: [{ type: "compaction" }] }, "unsupported_value"],
    ["context_management[0].type", { context_management: [{ type: "other" }] }, "invalid_value"],
    ["top_logprobs", { top_logprobs: 21 }, "invalid_value"],
    ["text.format.name", { text: { format: { type: "json_schema", name: "a b" } } }, "invalid_value"],
    ["metadata.k", { metadata: { k: "v".repeat(513) } }, "invalid_value"],
  ])("%s: %j", async (param, fields, code) => {
    const error = await failure(respond({ input: "hi", ...fields }));
    expect(error).toMatchObject({ status: 400, type: "invalid_request_error", param, code });
  });

  test("a prompt that is too long, unless truncation drops its oldest turns", async () => {
    const long = [user("Count from 3 to 12. ".repeat(100)), { role: "assistant", content: "3, 4" }];
    const input = [...long, user("Hello!"), { role: "assistant", content: "Hi." }, user("Capital of France?")];
    const error = await failure(respond({ input }));
    expect(error).toMatchObject({ status: 400, code: "context_length_exceeded", param: "input" });
    const truncated = await respond({ input, truncation: "auto" });
    expect(truncated).toMatchObject({ truncation: "auto", status: "completed", output_text: PARIS });
  });
});

test("input_tokens are those that a response reads", async () => {
  const asked = { input: "What is the weather in Oslo?", instructions: "Be brief.", tools: [WEATHER] };
  const { usage } = await respond(asked);
  const counted = await client.responses.inputTokens.count({ model: "demo", ...asked } as object);
  expect(counted).toEqual({ object: "response.input_tokens", input_tokens: usage!.input_tokens });
  const error = await failure(client.responses.inputTokens.count({ model: "demo", input: [] }));
  expect(error).toMatchObject({ status: 400, param: "input" });
});

test("a batch answers responses, and refuses lines that need the store", async () => {
  const run = async (body: object) => {
    const line = { custom_id: "a", method: "POST", url: "/v1/responses", body: { ...DEMO, ...body } };
    const file = new File([JSON.stringify(line)], "responses.jsonl");
    const input = await client.files.create({ purpose: "batch", file });
    let batch = await client.batches.create({
      input_file_id: input.id,
      endpoint: "/v1/responses",
      completion_window: "24h",
    });
    await until("the batch to end", async () => {
      batch = await client.batches.retrieve(batch.id);
      return batch.status === "completed" || batch.status === "failed";
    });
    return batch;
  };
  const batch = await run({ input: "Capital of France?" });
  const { response } = JSON.parse(await (await client.files.content(batch.output_file_id!)).text());
  expect(response.body).toMatchObject({ object: "response", status: "completed", store: false });
  expect(response.body.output[0].content[0].text).toBe(PARIS);
  for (const [param, fields] of [
    ["previous_response_id", { previous_response_id: "resp_1" }],
    ["store", { store: true }],
    ["background", { background: true }],
    ["context_management", { context_management: [{ type: "compaction" }] }],
  ] as const) {
    const { errors } = await run({ input: "hi", ...fields });
    expect(errors?.data).toMatchObject([{ code: "invalid_request", param: `body.${param}` }]);
  }
});
