import { afterAll, beforeAll, expect, test } from "vitest";
import { ollamaChatAnswer } from "../../../openapi/ollama/chat.ts";
import { checkLines } from "../../streams/ollama-lines.ts";
import { startTestServer, type TestServer } from "../server/test-server.ts";
import { everyKind, streamed } from "./faulty-events.ts";

let server: TestServer;
let body: string;
beforeAll(async () => {
  server = await startTestServer();
  server.engine.script = everyKind;
  const tools = [{ type: "function", function: { name: "time" } }];
  body = await streamed(server, "/api/chat", { messages: [{ role: "user", content: "hi" }], tools });
});
afterAll(() => server.close());

test("right lines pass", () => {
  expect(checkLines(body, ollamaChatAnswer, "demo")).toMatchObject({ text: "Two calls:" });
});

test.each<[string, string, () => string]>([
  ["the last one is empty", "a line is one object", () => `${body}\n`],
  ["they are events", "a line is one object", () => `data: ${body}`],
  ["[DONE] is their end", "a line is one object", () => `${body}[DONE]\n`],
  ["arguments are a string", "a value has its schema", () => body.replace('{"city":"Rome"}', '"{}"')],
  ["a message has no content", "a value has its schema", () => body.replace(',"content":""', "")],
  ["the model is another", "the model that was asked for", () => body.replace('"model":"demo"', '"model":"other"')],
  ["a time is earlier", "every line has its time", () => body.replace(/(.*"created_at":")2/s, "$11")],
  ["all calls have one index", "calls are numbered", () => body.replace('"index":1', '"index":0')],
  ["the last one is missing", "a line that is done", () => body.slice(0, body.lastIndexOf("\n", body.length - 2) + 1)],
  ["a count is missing", "the last line has all counts", () => body.replace(/,"eval_count":\d+/, "")],
  ["a duration is wrong", "the durations add up", () => body.replace(/("total_duration":)/, "$19")],
  ["the last one is half", "a stream ends with a whole line", () => body.slice(0, -2)],
])("lines are refused where %s", (_, rule, changed) => {
  expect(changed()).not.toBe(body);
  expect(() => checkLines(changed(), ollamaChatAnswer, "demo")).toThrow(rule);
});
