import OpenAI from "openai";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { ApiError } from "../../../../../openapi/api-error.ts";
import { type ResponseStreamEvent, responseStreamEvent } from "../../../../../openapi/responses/events.ts";
import { responseObject } from "../../../../../openapi/responses/response.ts";
import { checkResponseStream } from "../../../../streams/response-stream.ts";
import { eventsOf as sseEvents } from "../../../../streams/sse.ts";
import type { FakeRequest } from "../../fake-engine.ts";
import { startTestServer, type TestServer } from "../../test-server.ts";

let server: TestServer;
let client: OpenAI;
beforeAll(async () => {
  server = await startTestServer();
  client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: "none", maxRetries: 0 });
});
afterAll(() => server.close());
beforeEach(() => {
  server.engine.script = everyKind;
});

const PATCH = { type: "custom" as const, name: "patch" };
const TIME = { type: "function" as const, name: "time", parameters: { type: "object" }, strict: false };
const ASKED = { model: "demo", input: "hi", tools: [TIME, PATCH], include: ["reasoning.encrypted_content" as const] };

/** Reasoning, text, and a call of each kind. */
function everyKind(request: FakeRequest): void {
  const piece = (index: number, args: string, begun: object = {}) =>
    request.say("", { toolCalls: [{ index, arguments: args, ...begun }] });
  request.begin().say("", { reasoning: "let me" }).say("", { reasoning: " see" }).say("Two ").say("calls:");
  piece(0, "", { id: "call_a", name: "time" });
  piece(0, '{"city":');
  piece(0, '"Rome"}');
  piece(1, '{"inp', { id: "call_b", name: "patch" });
  piece(1, 'ut": "a\\');
  piece(1, 'nb\\u00e9"}');
  request.finish(0, 2);
}

/** The events of a stream that follows all rules. */
async function eventsOf(body: object): Promise<ResponseStreamEvent[]> {
  const response = await server.post("/v1/responses", { ...body, stream: true });
  const events = sseEvents(await response.text());
  checkResponseStream(events);
  return events.map(({ data }) => responseStreamEvent.parse(JSON.parse(data)));
}

test("the SDK builds the final response of a stream's events", async () => {
  const seen: unknown[] = [];
  const stream = client.responses.stream({ ...ASKED, reasoning: { summary: "auto" } });
  stream.on("event", (event) => seen.push(event));
  const response = await stream.finalResponse();
  expect(response.output_text).toBe("Two calls:");
  expect(response.output).toMatchObject([
    {
      type: "reasoning",
      summary: [{ type: "summary_text", text: "let me see" }],
      content: [{ type: "reasoning_text", text: "let me see" }],
      encrypted_content: expect.any(String),
      status: "completed",
    },
    { type: "message", role: "assistant", status: "completed" },
    { type: "function_call", call_id: "call_a", name: "time", arguments: '{"city":"Rome"}', status: "completed" },
    { type: "custom_tool_call", call_id: "call_b", name: "patch", input: "a\nb\u00e9", status: "completed" },
  ]);
  expect(response.usage).toMatchObject({ output_tokens_details: { reasoning_tokens: 2 }, total_tokens: 15 });
});

test("the input of a custom tool comes as its text, decoded", async () => {
  const events = await eventsOf(ASKED);
  const input = events.flatMap((e) => (e.type === "response.custom_tool_call_input.delta" ? [e.delta] : []));
  expect(input).toEqual(["a", "\nb\u00e9"]);
});

test("a whole response has the output of the stream", async () => {
  const whole = responseObject.strict().parse(await (await server.post("/v1/responses", ASKED)).json());
  const last = (await eventsOf(ASKED)).at(-1)!;
  if (last.type !== "response.completed") throw new Error(`the last event is ${last.type}`);
  const withoutIds = (output: object[]) =>
    output.map((item) => ({ ...item, id: "", ...("encrypted_content" in item && { encrypted_content: "" }) }));
  expect(withoutIds(whole.output)).toEqual(withoutIds(last.response.output));
  expect(whole.status).toBe("completed");
});

test("text around reasoning becomes items of its own, in order", async () => {
  server.engine.script = (request) => request.begin().say("a").say("", { reasoning: "b" }).say("c").finish();
  const output = (await client.responses.stream({ model: "demo", input: "hi" }).finalResponse()).output;
  expect(output.map(({ type, id }) => [type, id?.slice(-2)])).toEqual([
    ["message", "_0"],
    ["reasoning", "_1"],
    ["message", "_2"],
  ]);
});

test("a call that ends in the step of later text is one call, and the text follows", async () => {
  server.engine.script = (request) => {
    request.begin().say("", { toolCalls: [{ index: 0, id: "call_a", name: "time", arguments: "{" }] });
    request.say("And", { toolCalls: [{ index: 0, arguments: "}" }] }).finish();
  };
  const { output } = await client.responses.stream(ASKED).finalResponse();
  expect(output).toMatchObject([
    { type: "function_call", call_id: "call_a", name: "time", arguments: "{}" },
    { type: "message", content: [{ text: "And" }] },
  ]);
});

test.each<[string, object, string | undefined]>([
  ["content", { content: [{ type: "reasoning_text", text: "hm" }] }, "hm"],
  ["a summary", { summary: [{ type: "summary_text", text: "hm" }] }, "hm"],
  ["content and a foreign seal", { encrypted_content: "x", content: [{ type: "reasoning_text", text: "hm" }] }, "hm"],
  ["a foreign seal alone", { id: "rs_1", encrypted_content: "x" }, undefined],
  ["nothing", {}, undefined],
])("reasoning that comes back with %s is reasoning of its turn, and the stream goes on", async (_, fields, thought) => {
  const reasoning = { type: "reasoning", summary: [], ...fields };
  const input = [{ role: "user", content: "hi" }, reasoning, { role: "assistant", content: "Hi." }];
  const events = await eventsOf({ ...ASKED, input: [...input, { role: "user", content: "go on" }] });
  expect(events.at(-1)!.type).toBe("response.completed");
  const { prompt } = server.engine.requests.at(-1)!.submission;
  const said = { role: "assistant", content: "Hi." };
  expect(Object(prompt).messages[1]).toEqual(thought === undefined ? said : { ...said, reasoning_content: thought });
});

test("an answer without text is an empty message", async () => {
  server.engine.script = (request) => request.begin().say("").finish();
  const whole = await client.responses.create({ model: "demo", input: "hi" });
  const streamed = await client.responses.stream({ model: "demo", input: "hi" }).finalResponse();
  for (const { output } of [whole, streamed]) {
    expect(output).toMatchObject([{ type: "message", status: "completed", content: [{ text: "" }] }]);
  }
});

test("a failure after the first byte is an error event, then the failed response with its output", async () => {
  server.engine.script = (request) => {
    request.begin().say("Hal");
    request.fail(new ApiError("engine_died", "The engine died."));
  };
  const events = await eventsOf({ model: "demo", input: "hi" });
  expect(events.at(-2)).toMatchObject({ type: "error", code: "engine_died", error: { code: "engine_died" } });
  expect(events.at(-1)).toMatchObject({
    type: "response.failed",
    response: {
      status: "failed",
      error: { code: "server_error", message: "The engine died." },
      output: [{ status: "incomplete", content: [{ text: "Hal" }] }],
      usage: null,
    },
  });
});
