import { describe, expect, test } from "vitest";
import { contentSchemas } from "../../../../../openapi/anthropic/content.ts";
import { DEFAULT_REQUEST_LIMITS } from "../../../../../openapi/request-limits.ts";
import { toolUseId } from "../../../../../server/dialects/anthropic/call-id.ts";
import { conversation } from "../../../../../server/dialects/anthropic/conversation.ts";

const { message, system } = contentSchemas(DEFAULT_REQUEST_LIMITS);

function read(messages: object[], instructions?: unknown) {
  return conversation(
    system.parse(instructions),
    messages.map((one) => message.parse(one)),
  );
}

const BILLING = "x-anthropic-billing-header: cc_version=2.1.37.b2d; cc_entrypoint=cli; cch=";
const CALL = { type: "tool_use", id: "toolu_01", name: "f", input: { a: 1 } };
const ASKED = { role: "user", content: "Hi" };

describe("the system prompt", () => {
  test.each<[unknown, string | undefined]>([
    ["Be brief.", "Be brief."],
    [
      [
        { type: "text", text: "a", cache_control: { type: "ephemeral" } },
        { type: "text", text: "b" },
      ],
      "a\nb",
    ],
    [
      [
        { type: "text", text: `${BILLING}0a1b2;` },
        { type: "text", text: "b" },
      ],
      "b",
    ],
    [`${BILLING}ffff0;You are a coder.\nBe kind;`, "You are a coder.\nBe kind;"],
    ["", undefined],
    [undefined, undefined],
  ])("%j is %j", (given, expected) => {
    expect(read([ASKED], given).messages.find(({ role }) => role === "system")?.content).toBe(expected);
  });

  test("comes with system messages at the beginning; later ones stay where they are", () => {
    const rule = { role: "system", content: "b" };
    expect(read([rule, ASKED, rule, ASKED], "a").messages).toEqual([
      { role: "system", content: "a\nb" },
      { role: "user", content: "Hi" },
      { role: "system", content: "b" },
      { role: "user", content: "Hi" },
    ]);
  });
});

describe("messages", () => {
  test("of one role are joined, and results of tools come before other text", () => {
    const result = (id: string, rest: object = {}) => ({ type: "tool_result", tool_use_id: id, ...rest });
    const text = (words: string) => ({ type: "text", text: words });
    const { messages } = read([
      ASKED,
      { role: "assistant", content: [{ type: "thinking", thinking: "Hm.", signature: "foreign" }, text("I look.")] },
      { role: "assistant", content: [CALL, { ...CALL, id: "toolu_02" }] },
      { role: "user", content: [text("And?"), result("toolu_01")] },
      { role: "user", content: [result("toolu_02", { is_error: true, content: [text("no"), text("file")] })] },
    ]);
    const call = (id: string) => ({ id, type: "function", function: { name: "f", arguments: '{"a":1}' } });
    expect(messages).toEqual([
      { role: "user", content: "Hi" },
      { role: "assistant", content: "I look.", reasoning_content: "Hm.", tool_calls: [call("01"), call("02")] },
      { role: "tool", content: "", tool_call_id: "01" },
      { role: "tool", content: "Error: no\nfile", tool_call_id: "02" },
      { role: "user", content: "And?" },
    ]);
  });

  test("have the text of documents and search results, and no hosted blocks", () => {
    const source = { type: "text", media_type: "text/plain", data: "Body" };
    const content = [
      { type: "document", title: "Title", source },
      { type: "search_result", title: "Found", source: "https://a", content: [{ type: "text", text: "it" }] },
      { type: "server_tool_use", id: "a", name: "web_search", input: {} },
      { type: "redacted_thinking", data: "x" },
    ];
    expect(read([{ role: "user", content }]).messages).toEqual([
      { role: "user", content: "Title\nBody\nFound\nhttps://a\nit" },
    ]);
  });
});

describe("a last message of the assistant", () => {
  const last = (content: unknown) => read([ASKED, { role: "assistant", content }]);

  test("is the beginning of the answer", () => {
    const messages = [{ role: "user", content: "Hi" }];
    expect(last("Once")).toEqual({ messages, answerStart: "Once" });
    expect(last([{ type: "text", text: "" }])).toEqual({ messages });
  });

  test("is a message with calls, as any other", () => {
    expect(last([CALL]).answerStart).toBeUndefined();
  });

  test("must not end with white space", () => {
    expect(() => last("Once ")).toThrow("must not end with white space");
  });
});

test.each(["call_0a", "functions.f:0", "abc123XYZ"])("the id %s of a call comes back", (id) => {
  expect(toolUseId(id)).toMatch(/^toolu_[A-Za-z0-9_-]+$/);
  const { messages } = read([{ role: "user", content: [{ type: "tool_result", tool_use_id: toolUseId(id) }] }]);
  expect(messages[0]!.tool_call_id).toBe(id);
});
