import { afterAll, beforeAll, expect, test } from "vitest";
import { checkChatStream } from "../../streams/chat-stream.ts";
import { startTestServer, type TestServer } from "../server/test-server.ts";
import { everyKind, type Fault, FaultyEvents, set, streamed } from "./faulty-events.ts";

let server: TestServer;
let body: string;
beforeAll(async () => {
  server = await startTestServer();
  server.engine.script = everyKind;
  const tools = [{ type: "function", function: { name: "time" } }];
  const messages = [{ role: "user", content: "hi" }];
  const asked = { messages, tools, stream_options: { include_usage: true } };
  body = await streamed(server, "/v1/chat/completions", asked);
});
afterAll(() => server.close());

test("right chunks of a chat pass", () => {
  const { events } = new FaultyEvents(body);
  expect(checkChatStream(events, { includeUsage: true })?.choices).toHaveLength(1);
  expect(() => checkChatStream(events)).toThrow("chunks have a usage where it was asked for");
});

const CALLS = "choices.0.delta.tool_calls";
const REASON = "choices.0.finish_reason";

test.each<Fault>([
  ["ids differ", "all chunks have one id", (stream) => set(stream.all[2]!, "id", "chatcmpl-other")],
  ["events have names", "the events of chunks have no names", (stream) => set(stream.all, "type", "chunk")],
  ["no role begins them", "a choice begins with its role alone", (stream) => void stream.all.shift()],
  ["the role comes again", "the role comes once", (stream) => set(stream.all[2]!, "choices.0.delta.role", "assistant")],
  [
    "later pieces of a call have its name",
    "a call begins with all names",
    (stream) => set(stream.having(CALLS)[1]!, `${CALLS}.0.function.name`, "time"),
  ],
  [
    "all calls have one index",
    "calls are numbered",
    (stream) => set(stream.having(CALLS).at(-1)!, `${CALLS}.0.index`, 0),
  ],
  ["a delta is empty", "a delta adds something", (stream) => set(stream.all[2]!, "choices.0.delta", {})],
  [
    "a finish reason is beside content",
    "a choice ends with its finish reason alone",
    (stream) => set(stream.having(CALLS).at(-1)!, REASON, "tool_calls"),
  ],
  ["a call ends with stop", "a choice with a call ends for it", (stream) => set(stream.all.at(-2)!, REASON, "stop")],
  ["a finish reason is missing", "every choice has a finish reason", (stream) => stream.remove(stream.all.at(-2)!)],
  ["the usage is missing", "the usage comes before [DONE]", (stream) => void stream.all.pop()],
  [
    "one of them has no usage: null",
    "chunks have a usage where it was asked for",
    (stream) => set(stream.all[1]!, "usage", undefined),
  ],
  ["[DONE] is missing", "a stream ends with [DONE]", (stream) => stream.done(null)],
])("chunks of a chat are refused where %s", (_, rule, change) => {
  const stream = new FaultyEvents(body);
  change(stream);
  expect(() => checkChatStream(stream.events, { includeUsage: true })).toThrow(rule);
});
