import { afterAll, beforeAll, expect, test } from "vitest";
import { checkMessageStream } from "../../streams/message-stream.ts";
import { startTestServer, type TestServer } from "../server/test-server.ts";
import { everyKind, type Fault, FaultyEvents, plus, set, streamed } from "./faulty-events.ts";

let server: TestServer;
let body: string;
beforeAll(async () => {
  server = await startTestServer();
  server.engine.script = everyKind;
  const tools = [{ name: "time", input_schema: { type: "object" } }];
  const messages = [{ role: "user", content: "hi" }];
  body = await streamed(server, "/v1/messages", { max_tokens: 50, messages, tools, thinking: { type: "adaptive" } });
});
afterAll(() => server.close());

test("a right stream of a message passes", () => {
  expect(checkMessageStream(new FaultyEvents(body).events)).toMatchObject({ stop_reason: "tool_use" });
});

const SCHEMA = "a value has its schema";
const START = "content_block_start";

test.each<Fault>([
  ["a ping comes first", "message_start is the first event", (stream) => stream.all.unshift({ type: "ping" })],
  ["[DONE] is its end", "an event has a name", (stream) => stream.done("[DONE]")],
  ["events have no name", "an event has a name", (stream) => set(stream.all, "type", undefined)],
  [
    "message_start has no input tokens",
    "message_start has the size of the prompt",
    (stream) => {
      set(stream.one("message_start"), "message.usage.input_tokens", 0);
      set(stream.one("message_start"), "message.usage.cache_read_input_tokens", 0);
    },
  ],
  [
    "cached tokens count twice",
    "the counts of the prompt are those of message_start",
    (stream) => set(stream.one("message_delta"), "usage.input_tokens", plus(2)),
  ],
  [
    "counts become less",
    "counts do not become less",
    (stream) => {
      set(stream.one("message_start"), "message.usage.output_tokens", 1);
      set(stream.one("message_delta"), "usage.output_tokens", 0);
    },
  ],
  [
    "reasoning has no signature",
    "reasoning has a signature",
    (stream) => stream.remove(...stream.having("delta.signature")),
  ],
  [
    "reasoning starts without the field signature",
    SCHEMA,
    (stream) => set(stream.one(START), "content_block.signature", undefined),
  ],
  [
    "a block starts before the last one stops",
    "a block is stopped before the next one starts",
    (stream) => stream.remove(stream.one("content_block_stop")),
  ],
  [
    "indexes count from 1",
    "the index of a block is the number of blocks before it",
    (stream) => set(stream.having("index"), "index", plus(1)),
  ],
  ["an input is a string", SCHEMA, (stream) => set(stream.one(START, -1), "content_block.input", "{}")],
  [
    "stop_reason is null",
    "the end has its reason",
    (stream) => set(stream.one("message_delta"), "delta.stop_reason", null),
  ],
  [
    "a call ends with end_turn",
    "an answer with a call ends for it",
    (stream) => set(stream.one("message_delta"), "delta.stop_reason", "end_turn"),
  ],
  [
    "stop_sequence is not the reason",
    "a stop sequence is named where it ended the answer",
    (stream) => set(stream.one("message_delta"), "delta.stop_sequence", "x"),
  ],
  [
    "message_delta is missing",
    "message_delta precedes message_stop",
    (stream) => stream.remove(stream.one("message_delta")),
  ],
  ["an event follows the last one", "nothing follows the last event", (stream) => stream.all.push({ type: "ping" })],
])("a stream of a message is refused where %s", (_, rule, change) => {
  const stream = new FaultyEvents(body);
  change(stream);
  expect(() => checkMessageStream(stream.events)).toThrow(rule);
});
