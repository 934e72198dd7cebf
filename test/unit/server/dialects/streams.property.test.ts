import { MessageStream } from "@anthropic-ai/sdk/lib/MessageStream";
import fc from "fast-check";
import type OpenAI from "openai";
import { ChatCompletionStream } from "openai/lib/ChatCompletionStream";
import { accumulateResponse } from "openai/lib/responses/ResponseAccumulator";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type AnswerBlock, message } from "../../../../openapi/anthropic/message.ts";
import { chatResponse } from "../../../../openapi/generation/chat.ts";
import { ollamaChatAnswer } from "../../../../openapi/ollama/chat.ts";
import { ollamaGenerateAnswer } from "../../../../openapi/ollama/generate.ts";
import type { OutputItem } from "../../../../openapi/responses/item.ts";
import { type ResponseObject, responseObject } from "../../../../openapi/responses/response.ts";
import { checkChatStream } from "../../../streams/chat-stream.ts";
import { checkMessageStream } from "../../../streams/message-stream.ts";
import { checkLines } from "../../../streams/ollama-lines.ts";
import { checkResponseStream } from "../../../streams/response-stream.ts";
import { exact } from "../../../streams/rule.ts";
import { eventsOf, type NamedEvent } from "../../../streams/sse.ts";
import { startTestServer, type TestServer } from "../test-server.ts";
import { anyEngineAnswer, CUSTOM, type EngineAnswer, FUNCTION, play } from "./engine-answers.ts";

/** Engine answers for each dialect: two requests each, of some milliseconds. */
const RUNS = 60;

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.close());

async function post(path: string, body: object, answer: EngineAnswer, failing: boolean): Promise<string | null> {
  server.engine.script = (request) => play(request, answer, failing);
  const response = await server.post(path, body);
  const text = await response.text();
  // A failure before the first byte is a status.
  if (response.status >= 500 && failing && answer.failsAt !== null) return null;
  expect([response.status, text]).toEqual([200, text]);
  return text;
}

/** Calls `check` with the stream and the whole answer to a body. */
async function answered(
  path: string,
  body: object,
  answer: EngineAnswer,
  check: (stream: string, whole: unknown) => Promise<void> | void,
): Promise<void> {
  const stream = await post(path, { ...body, stream: true }, answer, true);
  // Refused where nothing is streamed.
  const whole = await post(path, { ...body, stream_options: undefined, stream: false }, answer, false);
  if (stream !== null) await check(stream, JSON.parse(whole!));
}

/** Events as the SDKs pass them on from a server to a browser. */
function lines(events: readonly NamedEvent[]): ReadableStream {
  const texts = events.filter(({ data }) => data !== "[DONE]").map(({ data }) => `${data}\n`);
  return new Blob(texts).stream();
}

function any(...values: unknown[]) {
  return fc.constantFrom(undefined, ...values);
}

const parameters = { type: "object", properties: { city: { type: "string" } } };

const RESPONSES = fc.record({
  model: fc.constant("demo"),
  input: fc.constantFrom("hi", [{ role: "user", content: "hi" }]),
  tools: fc.constant([
    { type: "function", name: FUNCTION, parameters },
    { type: "custom", name: CUSTOM },
    { type: "local_shell" },
  ]),
  tool_choice: any("auto", "required"),
  parallel_tool_calls: any(false),
  reasoning: any({ summary: "auto" }, { effort: "low", generate_summary: "detailed" }),
  include: fc.subarray([
    "reasoning.encrypted_content",
    "message.output_text.logprobs",
    "code_interpreter_call.outputs",
  ]),
  top_logprobs: any(0, 1),
  instructions: any("Be brief."),
  max_output_tokens: any(16),
  metadata: any({ a: "b" }),
  truncation: any("auto"),
  store: any(false, true),
});

function partsOf(output: readonly OutputItem[]) {
  const text = (type: OutputItem["type"]) =>
    output.flatMap((item) => (item.type === type && "content" in item ? item.content!.map((part) => part.text) : []));
  const logprobs = output.flatMap((item) => (item.type === "message" ? item.content.flatMap((p) => p.logprobs) : []));
  const calls = output.flatMap((item) => ("call_id" in item ? [{ ...item, id: "", status: "" }] : []));
  return { text: text("message").join(""), reasoning: text("reasoning").join(""), logprobs, calls };
}

function withoutIds({ output, ...response }: ResponseObject, ordered: boolean) {
  const bare = (item: OutputItem) => ({
    ...item,
    id: "",
    ...("encrypted_content" in item && { encrypted_content: "" }),
  });
  const common = { ...response, id: "", completed_at: response.completed_at === null };
  return { ...common, output: ordered ? output.map(bare) : partsOf(output) };
}

test("events of responses follow all rules, and add up to the whole response", async () => {
  await fc.assert(
    fc.asyncProperty(RESPONSES, anyEngineAnswer, (body, answer) =>
      answered("/v1/responses", body, answer, async (stream, whole) => {
        const events = eventsOf(stream);
        const response = checkResponseStream(events)!;
        const failed = response.status === "failed";
        let snapshot: OpenAI.Responses.Response | undefined;
        for (const { data } of events.slice(0, -1)) snapshot = accumulateResponse(JSON.parse(data), snapshot);
        if (!failed) expect(snapshot!.output).toEqual(response.output);
        const stored = await fetch(`${server.url}/v1/responses/${response.id}`);
        const kept = body.store !== false && !failed;
        expect(stored.status).toBe(kept ? 200 : 404);
        if (kept) expect(await stored.json()).toEqual(response);
        if (failed) return;
        const expected = exact(responseObject, whole);
        expect(withoutIds(response, answer.ordered)).toEqual(withoutIds(expected, answer.ordered));
      }),
    ),
    { numRuns: RUNS },
  );
});

const MESSAGES = fc.record({
  model: fc.constant("demo"),
  max_tokens: fc.constantFrom(1, 500),
  messages: fc.constant([{ role: "user", content: "hi" }]),
  tools: fc.constant([
    { name: FUNCTION, input_schema: parameters },
    { name: CUSTOM, input_schema: parameters },
  ]),
  thinking: any(
    { type: "adaptive" },
    { type: "disabled" },
    { type: "enabled", budget_tokens: 1024 },
    { type: "adaptive", display: "omitted" },
  ),
  stop_sequences: any(["END"]),
});

/** The contents of blocks, joined by their type. White space beside calls is no block. */
function saidBy(content: readonly AnswerBlock[]) {
  const joined = (type: AnswerBlock["type"]) =>
    content.flatMap((block) => (block.type === type ? Object.values(block).slice(1) : [])).join("");
  return [
    joined("thinking") !== "",
    joined("text").replace(/\s/g, ""),
    content.filter(({ type }) => type === "tool_use"),
  ];
}

test("events of messages follow all rules, and add up to the whole message", async () => {
  await fc.assert(
    fc.asyncProperty(MESSAGES, anyEngineAnswer, (body, answer) =>
      answered("/v1/messages", body, answer, async (stream, whole) => {
        const events = eventsOf(stream);
        const streamed = checkMessageStream(events);
        if (streamed === null) return;
        const { content, ...rest } = await MessageStream.fromReadableStream(lines(events)).finalMessage();
        const { content: _, ...expected } = streamed;
        expect(rest).toMatchObject(expected);
        const cutCall = streamed.content.some((block) => "input" in block && "_raw" in block.input);
        if (!cutCall) expect(content).toEqual(streamed.content);
        const { content: blocks, ...other } = exact(message, whole);
        expect({ ...expected, id: "" }).toEqual({ ...other, id: "" });
        if (answer.ordered) expect(streamed.content).toEqual(blocks);
        else expect(saidBy(streamed.content)).toEqual(saidBy(blocks));
      }),
    ),
    { numRuns: RUNS },
  );
});

const CHATS = fc.record({
  model: fc.constant("demo"),
  messages: fc.constant([{ role: "user", content: "hi" }]),
  n: fc.integer({ min: 1, max: 3 }),
  logprobs: fc.boolean(),
  stream_options: any({ include_usage: true }, { include_usage: false }),
  tools: fc.constant([FUNCTION, CUSTOM].map((name) => ({ type: "function", function: { name, parameters } }))),
  store: any(true),
});

test("chunks of chat completions follow all rules, and add up to the whole completion", async () => {
  await fc.assert(
    fc.asyncProperty(CHATS, anyEngineAnswer, (body, answer) =>
      answered("/v1/chat/completions", body, answer, async (stream, whole) => {
        const events = eventsOf(stream);
        const { include_usage: includeUsage }: { include_usage?: boolean } = Object(body.stream_options);
        const streamed = checkChatStream(events, { choices: body.n, includeUsage: includeUsage === true });
        if (streamed === null) return;
        const judged = await ChatCompletionStream.fromReadableStream(lines(events)).finalChatCompletion();
        expect(judged.choices.map(({ message: { content } }) => content ?? "")).toEqual(
          streamed.choices.map(({ message: { content } }) => content ?? ""),
        );
        const { choices, usage } = exact(chatResponse, whole);
        // Log probabilities of an answer without text are an empty list or null.
        const known = streamed.choices.map((choice, index) =>
          choice.logprobs === null && choices[index]!.logprobs?.content.length === 0
            ? { ...choice, logprobs: choices[index]!.logprobs }
            : choice,
        );
        expect(known).toEqual(choices);
        if (includeUsage) expect(streamed.usage).toEqual(usage);
      }),
    ),
    { numRuns: RUNS },
  );
});

const OLLAMA = fc.record({ model: fc.constantFrom("demo", "demo:latest"), logprobs: fc.boolean() });
const OLLAMA_TOOLS = [FUNCTION, CUSTOM].map((name) => ({ type: "function", function: { name, parameters } }));

test.each(["/api/chat", "/api/generate"])("lines of %s follow all rules, and add up to the whole", async (path) => {
  const schema = path === "/api/chat" ? ollamaChatAnswer : ollamaGenerateAnswer;
  const prompt =
    path === "/api/chat" ? { messages: [{ role: "user", content: "hi" }], tools: OLLAMA_TOOLS } : { prompt: "hi" };
  await fc.assert(
    fc.asyncProperty(OLLAMA, anyEngineAnswer, (body, answer) =>
      answered(path, { ...body, ...prompt }, answer, (stream, whole) => {
        const streamed = checkLines(stream, schema, body.model);
        if (streamed === null) return;
        const { text, thinking, calls, logprobs } = streamed;
        const message = {
          role: "assistant",
          content: text,
          ...(thinking !== "" && { thinking }),
          ...(calls.length > 0 && { tool_calls: calls }),
        };
        const said = path === "/api/chat" ? { message } : { response: text, ...(thinking !== "" && { thinking }) };
        const { done_reason, prompt_eval_count, eval_count } = streamed.last;
        expect(exact<object>(schema, whole)).toMatchObject({
          ...{ model: body.model, done: true, done_reason, prompt_eval_count, eval_count },
          ...(body.logprobs && { logprobs }),
          ...said,
        });
      }),
    ),
    { numRuns: RUNS },
  );
});
