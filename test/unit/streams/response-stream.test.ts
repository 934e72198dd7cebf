import { afterAll, beforeAll, expect, test } from "vitest";
import { checkResponseStream } from "../../streams/response-stream.ts";
import { startTestServer, type TestServer } from "../server/test-server.ts";
import { everyKind, type Fault, FaultyEvents, plus, set, streamed } from "./faulty-events.ts";

let server: TestServer;
let body: string;
beforeAll(async () => {
  server = await startTestServer();
  server.engine.script = everyKind;
  const tools = [{ type: "function", name: "time", parameters: { type: "object" } }];
  body = await streamed(server, "/v1/responses", { input: "hi", tools, reasoning: { summary: "auto" } });
});
afterAll(() => server.close());

test("a right stream of a response passes, and one that was cut off as such", () => {
  const { events } = new FaultyEvents(body);
  expect(checkResponseStream(events)).toMatchObject({ status: "completed" });
  expect(checkResponseStream(events.slice(0, 9), true)).toBeNull();
  expect(() => checkResponseStream(events.slice(0, 9))).toThrow("a stream ends with its response");
});

const SCHEMA = "a value has its schema";
const DELTA = "response.output_text.delta";
const ARGUMENTS = "response.function_call_arguments.delta";
const PART = "response.content_part.added";
const ITEM = "response.output_item.done";

test.each<Fault>([
  [
    "output_index counts from 1",
    "the index of an item is the number of items before it",
    (stream) => set(stream.having("output_index"), "output_index", plus(1)),
  ],
  ["content_index is -1", SCHEMA, (stream) => set(stream.having("content_index"), "content_index", -1)],
  [
    "content_index runs on over items",
    "the index of a part is the number of parts before it",
    (stream) => set(stream.one(PART, 1), "content_index", 1),
  ],
  [
    "all items have one id",
    "an item's id begins as those of its type",
    (stream) => {
      set(stream.having("item"), "item.id", "msg_1");
      set(stream.having("item_id"), "item_id", "msg_1");
    },
  ],
  [
    "two items of a type have one id",
    "every id is of one item or call alone",
    (stream) => {
      const [id] = stream.having("item.call_id").map((event) => Object(event.item).id);
      set(stream.having("item.call_id"), "item.id", id);
    },
  ],
  [
    "two calls have one call_id",
    "every id is of one item or call alone",
    (stream) => set(stream.having("item.call_id"), "item.call_id", "call_x"),
  ],
  [
    "deltas have another id than their item",
    "an event has the id of the open item",
    (stream) => set(stream.one(DELTA), "item_id", "msg_other"),
  ],
  [
    "the done events of the last item are missing",
    "every item is done before the response",
    (stream) => {
      stream.remove(stream.one("response.function_call_arguments.done", -1), stream.one(ITEM, -1));
    },
  ],
  [
    "an item is added before the last one is done",
    "an item is done before the next one is added",
    (stream) => stream.remove(stream.one(ITEM)),
  ],
  [
    "a text has no done event",
    "a part is done once, after its text",
    (stream) => stream.remove(stream.one("response.output_text.done")),
  ],
  [
    "a part has no done event",
    "every part of an item is done before the item",
    (stream) => stream.remove(stream.one("response.reasoning_summary_part.done")),
  ],
  ["deltas do not add up", "deltas add up to the text that is done", (stream) => stream.remove(stream.one(ARGUMENTS))],
  ["sequence_number is constant", "has this number", (stream) => set(stream.one(DELTA), "sequence_number", 0)],
  [
    "sequence_number is inside of the response",
    SCHEMA,
    (stream) => {
      set(stream.one("response.created"), "response.sequence_number", 0);
      set(stream.one("response.created"), "sequence_number", undefined);
    },
  ],
  ["response.created has a stub", SCHEMA, (stream) => set(stream.one("response.created"), "response.model", undefined)],
  [
    "response.in_progress has another response",
    "response.in_progress has the response of response.created",
    (stream) => set(stream.one("response.in_progress"), "response.created_at", plus(1)),
  ],
  [
    "response.created is missing",
    "response.in_progress is the second event alone",
    (stream) => stream.remove(stream.one("response.created")),
  ],
  ["an event has a type of its own", SCHEMA, (stream) => set(stream.one(DELTA), "type", "response.reasoning.delta")],
  [
    "a delta does not fit its item",
    "the events of an item fit its type",
    (stream) => set(stream.one(ARGUMENTS), "type", "response.custom_tool_call_input.delta"),
  ],
  [
    "a delta comes before its part",
    "a text belongs to a part that was added",
    (stream) => stream.remove(stream.one(PART, 1)),
  ],
  [
    "reasoning is a part of a message",
    "a part fits its item",
    (stream) => {
      set(stream.one(PART, 1), "part", { type: "reasoning_text", text: "" });
    },
  ],
  [
    "a call is done with another call_id",
    "an item is what its events said",
    (stream) => set(stream.one(ITEM, -1), "item.call_id", "call_other"),
  ],
  [
    "the last event has no output",
    "the last event has the items as they were done",
    (stream) => set(stream.all.at(-1)!, "response.output", []),
  ],
  [
    "the usage has no details",
    SCHEMA,
    (stream) => set(stream.all.at(-1)!, "response.usage.output_tokens_details", undefined),
  ],
  [
    "tokens of reasoning count twice",
    "the total is the sum of both counts",
    (stream) => set(stream.all.at(-1)!, "response.usage.total_tokens", plus(2)),
  ],
  [
    "the last event has output_text",
    "a value has no other keys",
    (stream) => set(stream.all.at(-1)!, "response.output_text", "Two calls:"),
  ],
  [
    "the last event comes twice",
    "nothing follows the last response",
    (stream) => stream.all.push({ ...stream.all.at(-1), sequence_number: stream.all.length }),
  ],
])("a stream of a response is refused where %s", (_, rule, change) => {
  const stream = new FaultyEvents(body);
  change(stream);
  expect(() => checkResponseStream(stream.events)).toThrow(rule);
});
