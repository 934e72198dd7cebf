import { expect, test } from "vitest";
import type { GivenItem } from "../../../../../openapi/responses/item.ts";
import { messagesOf } from "../../../../../server/dialects/responses/conversation.ts";

const status = "completed" as const;
const user = (text: string): GivenItem => ({
  type: "message",
  role: "user",
  status,
  content: [{ type: "input_text", text }],
});
const answer = (text: string): GivenItem => ({
  type: "message",
  role: "assistant",
  status,
  content: [{ type: "output_text", text, annotations: [], logprobs: [] }],
});
const thought = (text: string): GivenItem => ({
  type: "reasoning",
  summary: [],
  content: [{ type: "reasoning_text", text }],
  status,
});
const call = (call_id: string): GivenItem => ({ type: "function_call", call_id, name: "f", arguments: "{}", status });
const output = (call_id: string): GivenItem => ({
  type: "function_call_output",
  call_id,
  output: `of ${call_id}`,
  status,
});
const toolCall = (id: string) => ({ id, type: "function", function: { name: "f", arguments: "{}" } });
const toolMessage = (id: string) => ({ role: "tool", tool_call_id: id, content: `of ${id}` });

/** A sealed text is one with this beginning. */
const SEALED = "sealed ";
const open = (text: string) => (text.startsWith(SEALED) ? text.slice(SEALED.length) : null);
const messages = (...items: GivenItem[]) => messagesOf(items, open);

test("neighbours of one turn are one message, and outputs follow in the order of the calls", () => {
  const items = [user("hi"), thought("hm"), answer("wait"), call("a"), call("b"), output("b"), output("a")];
  expect(messages(...items, thought("so"), answer("done"))).toEqual([
    { role: "user", content: "hi" },
    { role: "assistant", reasoning_content: "hm", content: "wait", tool_calls: [toolCall("a"), toolCall("b")] },
    toolMessage("a"),
    toolMessage("b"),
    { role: "assistant", reasoning_content: "so", content: "done" },
  ]);
});

test("calls that were answered one after the other stay apart", () => {
  expect(messages(call("a"), output("a"), call("b"), output("b"))).toEqual([
    { role: "assistant", content: null, tool_calls: [toolCall("a")] },
    toolMessage("a"),
    { role: "assistant", content: null, tool_calls: [toolCall("b")] },
    toolMessage("b"),
  ]);
});

test("custom calls are calls with one text; reasoning without an answer is left out", () => {
  const custom: GivenItem = { type: "custom_tool_call", call_id: "c", name: "p", input: 'a"b', status };
  const result: GivenItem = {
    type: "custom_tool_call_output",
    call_id: "c",
    output: [{ type: "input_text", text: "ok" }],
  };
  expect(messages(custom, result, thought("lost"), user("next"))).toEqual([
    {
      role: "assistant",
      content: null,
      tool_calls: [{ id: "c", type: "function", function: { name: "p", arguments: '{"input":"a\\"b"}' } }],
    },
    { role: "tool", tool_call_id: "c", content: "ok" },
    { role: "user", content: "next" },
  ]);
});

test("calls and outputs come in pairs; a call that was cut short may have none", () => {
  expect(() => messages(output("a"))).toThrow("No tool call found for function call output with call_id a.");
  expect(() => messages(call("a"), user("x"))).toThrow("No tool output found for function call a.");
  const cut: GivenItem = { type: "function_call", call_id: "a", name: "f", arguments: "{", status: "incomplete" };
  expect(messages(cut, user("x"))).toEqual([{ role: "user", content: "x" }]);
});

const compaction = (sealed: string): GivenItem => ({ type: "compaction", encrypted_content: sealed });

test("a compaction and the user's messages beside it are one message, and other items before it are left out", () => {
  const before = [user("a"), call("c"), output("c"), answer("b"), user("d"), answer("e")];
  expect(messages(...before, compaction("sealed old"), user("f"), answer("g"), user("h"))).toEqual([
    { role: "user", content: "a\n\nd\n\nSummary of the conversation so far:\nold\n\nf" },
    { role: "assistant", content: "g" },
    { role: "user", content: "h" },
  ]);
  const [latest] = messages(user("a"), compaction("sealed old"), answer("b"), user("c"), compaction("sealed new"));
  expect(latest?.content).toBe("a\n\nc\n\nSummary of the conversation so far:\nnew");
  expect(() => messages(user("a"), compaction("foreign"))).toThrow("was not made by this server");
});

test("the newest message of the user stays beside a compaction, and older ones up to 8 KiB", () => {
  const long = "x".repeat(9000);
  const kept = (...items: GivenItem[]) => messages(...items, compaction("sealed s"))[0]?.content?.split("\n\n");
  expect(kept(user(long), user("a"), user(long))?.map((text) => text.length)).toEqual([1, 9000, expect.any(Number)]);
  expect(kept(user(long), user("a"), user("b"))?.slice(0, -1)).toEqual(["a", "b"]);
});
