import { describe, expect, it } from "vitest";
import type { OllamaMessage } from "../../../../../openapi/ollama/chat.ts";
import { turnMessages } from "../../../../../server/dialects/ollama/messages.ts";

function call(name: string, id?: string) {
  return { ...(id !== undefined && { id }), function: { name, arguments: { city: "Oslo" } } };
}
const result = (fields: Partial<OllamaMessage>): OllamaMessage => ({ role: "tool", content: "1", ...fields });

describe("the result of a tool", () => {
  const calls: OllamaMessage = { role: "assistant", tool_calls: [call("a"), call("b"), call("a", "given")] };
  const answered = (...results: OllamaMessage[]) =>
    turnMessages([calls, ...results])
      .slice(1)
      .map(({ tool_call_id }) => tool_call_id);

  it.each<[string, Partial<OllamaMessage>[], string[]]>([
    ["neither ids nor names", [{}, {}, {}], ["call_0", "call_1", "given"]],
    ["names", [{ tool_name: "b" }, { tool_name: "a" }, { tool_name: "a" }], ["call_1", "call_0", "given"]],
    ["ids", [{ tool_call_id: "given" }, {}, {}], ["given", "call_0", "call_1"]],
    ["an unknown name", [{ tool_name: "c" }, {}], ["call_0", "call_1"]],
  ])("answers the calls in order: %s", (_, results, ids) => {
    expect(answered(...results.map(result))).toEqual(ids);
  });

  it("without a call has no id", () => {
    expect(turnMessages([result({ tool_name: "a" })])).toEqual([{ role: "tool", content: "1", name: "a" }]);
  });
});

it("arguments become text, thoughts reasoning, and a missing content an empty one", () => {
  const assistant: OllamaMessage = { role: "assistant", thinking: "hm", tool_calls: [call("a", "x")] };
  expect(turnMessages([{ role: "user" }, assistant])).toEqual([
    { role: "user", content: "" },
    {
      role: "assistant",
      content: null,
      reasoning_content: "hm",
      tool_calls: [{ id: "x", type: "function", function: { name: "a", arguments: '{"city":"Oslo"}' } }],
    },
  ]);
});
