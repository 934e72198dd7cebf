import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ollamaChatAnswer } from "../../openapi/ollama/chat.ts";
import { ollamaGenerateAnswer } from "../../openapi/ollama/generate.ts";
import { checkChatStream } from "../streams/chat-stream.ts";
import { checkMessageStream } from "../streams/message-stream.ts";
import { checkLines } from "../streams/ollama-lines.ts";
import { checkResponseStream } from "../streams/response-stream.ts";
import { eventsOf, wholeEvents } from "../streams/sse.ts";
import { DEMO_MODEL, startServer, type TestServer } from "./server.ts";
import { writeThinker } from "./thinker.ts";

const folder = mkdtempSync(join(tmpdir(), "nightshift-streams-"));
let server: TestServer;
beforeAll(async () => {
  const thinker = join(folder, "thinker.gguf");
  writeThinker(thinker);
  server = await startServer("--threads", "1", "--model", `demo=${DEMO_MODEL}`, "--model", `thinker=${thinker}`);
});
afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true });
});

const SEED = 20;
const REQUESTS = 30;
/** Streams at a time. */
const AT_ONCE = 4;

const city = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const names = ["get_weather", "get_time"];
const functions = names.map((name) => ({ type: "function", function: { name, parameters: city } }));
const schema = { type: "object", properties: { a: { enum: [1, "é"] }, b: { type: "boolean" } }, required: ["a", "b"] };

const model = fc.constantFrom("demo", "demo", "thinker");
const question = fc.constantFrom(
  "Count from 3 to 30.",
  "What is the weather in Oslo?",
  "Weather in Cairo?",
  "Tell a story about a crow.",
  "Hello!",
);
const tokens = fc.constantFrom(1, 5, 60, 60);
const sampled = { seed: fc.nat(1000), temperature: fc.constantFrom(0, 0, 0.8, 2) };
/** Reasoning that ends before the answer does. */
const thinking_token_budget = fc.constant(3);

function any(...values: unknown[]) {
  return fc.constantFrom(undefined, ...values);
}

interface Dialect {
  path: string;
  bodies: fc.Arbitrary<object>;
  check(text: string, body: Record<string, unknown>, cut: boolean): unknown;
}

const messages = question.map((content) => [{ role: "user", content }]);
const format = { type: "json_schema", name: "answer", schema };

const read = (text: string, cut: boolean) => (cut ? wholeEvents : eventsOf)(text);

const DIALECTS: Dialect[] = [
  {
    path: "/v1/responses",
    bodies: fc.record({
      ...{ model, input: question, max_output_tokens: tokens, thinking_token_budget, ...sampled },
      tools: any(
        names.map((name) => ({ type: "function", name, parameters: city })),
        names.map((name) => ({ type: "function", name, parameters: city, strict: true })),
        [{ type: "custom", name: "note" }, { type: "local_shell" }],
      ),
      tool_choice: any("auto"),
      reasoning: any({ summary: "auto" }, { effort: "none" }),
      include: any(["reasoning.encrypted_content"], ["message.output_text.logprobs"]),
      text: any({ format }),
      stop: any(["1", "an"]),
      store: any(false),
    }),
    check: (text, _, cut) => checkResponseStream(read(text, cut), cut),
  },
  {
    path: "/v1/messages",
    bodies: fc.record({
      ...{ model, messages, max_tokens: tokens, ...sampled },
      temperature: fc.constantFrom(0, 1),
      tools: any(names.map((name) => ({ name, input_schema: city }))),
      thinking: any(
        { type: "enabled", budget_tokens: 3 },
        { type: "adaptive" },
        { type: "adaptive", display: "omitted" },
        { type: "disabled" },
      ),
      stop_sequences: any(["1", "an"]),
      output_config: any({ format: { type: "json_schema", schema } }),
    }),
    check: (text, _, cut) => checkMessageStream(read(text, cut), cut),
  },
  {
    path: "/v1/chat/completions",
    bodies: fc.record({
      ...{ model, messages, max_completion_tokens: tokens, thinking_token_budget, ...sampled },
      tools: any(functions),
      n: any(3),
      logprobs: any(true),
      stop: any(["1", "an"]),
      response_format: any({ type: "json_schema", json_schema: { name: "answer", schema } }),
      stream_options: any({ include_usage: true }),
      store: any(true),
    }),
    check: (text, { n, stream_options }, cut) => {
      const { include_usage: includeUsage = false } = Object(stream_options);
      return checkChatStream(read(text, cut), { choices: Number(n ?? 1), includeUsage, cut });
    },
  },
  {
    path: "/api/chat",
    bodies: fc.record({
      ...{ model, messages, tools: any(functions), logprobs: any(true), format: any(schema) },
      options: fc.record({ ...sampled, num_predict: tokens, stop: any(["1", "an"]) }),
    }),
    check: (text, { model: asked }, cut) => checkLines(text, ollamaChatAnswer, String(asked), cut),
  },
  {
    path: "/api/generate",
    bodies: fc.record({
      ...{ model, prompt: question, raw: any(true), logprobs: any(true) },
      options: fc.record({ ...sampled, num_predict: tokens }),
    }),
    check: (text, { model: asked }, cut) => checkLines(text, ollamaGenerateAnswer, String(asked), cut),
  },
];

/** Runs all tasks, several at once. */
async function eachOf<T>(all: readonly T[], run: (one: T) => Promise<void>): Promise<void> {
  const left = [...all];
  const work = async () => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) await run(next);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}

/** The text of a stream up to this many bytes, where the client leaves. */
async function textUntil(response: Response, abort: AbortController, bytes: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let read = 0;
  for await (const chunk of response.body!) {
    chunks.push(chunk);
    read += chunk.length;
    if (read >= bytes) break;
  }
  abort.abort();
  return Buffer.concat(chunks).subarray(0, bytes).toString();
}

describe.each(DIALECTS)("streams of $path", ({ path, bodies, check }) => {
  test("follow all rules for any request", async () => {
    await eachOf(fc.sample(bodies, { numRuns: REQUESTS, seed: SEED }), async (body) => {
      const response = await server.post(path, { ...body, stream: true });
      const text = await response.text();
      expect([response.status, text, body]).toEqual([200, text, body]);
      const answer = check(text, { ...body }, false);
      expect(answer, text).not.toBeNull();
    });
  });

  test("that the client cuts at any byte are right until there, and free their sequences", async () => {
    const cuts = fc.tuple(bodies, fc.integer({ min: 1, max: 6000 }));
    await eachOf(fc.sample(cuts, { numRuns: REQUESTS, seed: SEED }), async ([body, bytes]) => {
      const abort = new AbortController();
      const headers = { "content-type": "application/json" };
      const asked = { method: "POST", headers, body: JSON.stringify({ ...body, stream: true }), signal: abort.signal };
      const response = await fetch(server.origin + path, asked);
      check(await textUntil(response, abort, bytes), { ...body }, true);
    });
    await server.idle();
    expect((await server.metrics()).sum("nightshift_sequences")).toBe(0);
  });
});
