import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ToolCallDelta } from "../../../../../engine/protocol/output.ts";
import { ApiError } from "../../../../../openapi/api-error.ts";
import { ollamaChatAnswer } from "../../../../../openapi/ollama/chat.ts";
import { AnswerLines } from "../../../../../server/dialects/ollama/answer-lines.ts";
import { chatMessage } from "../../../../../server/dialects/ollama/chat.ts";

/** A second passes at each reading. */
function clock() {
  let seconds = 1_700_000_000;
  return { epochMs: () => seconds++ * 1000 };
}
const USAGE = {
  ...{ prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
  prompt_tokens_details: { cached_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 0 },
};
const END = { usage: USAGE, times: { queue: 1.5, prefill: 2, decode: 4 } };
const FINISH = { stop: null, completionTokens: 2, reasoningTokens: 0 };

function stream(
  pieces: { text?: string; reasoning?: string; toolCalls?: ToolCallDelta[] }[],
  reason = "stop" as const,
) {
  const lines = new AnswerLines({ model: "asked" }, clock(), chatMessage);
  const first = lines.first();
  const deltas = pieces.map((piece) => lines.delta(0, { text: "", reasoning: "", ...piece }));
  const parts = [first, ...deltas, lines.last(0, { ...FINISH, reason }), lines.end(END)];
  const text = parts.join("");
  expect(text.endsWith("}\n")).toBe(true);
  return text
    .slice(0, -1)
    .split("\n")
    .map((line) => ollamaChatAnswer.parse(JSON.parse(line)));
}

describe("the lines of a stream", () => {
  it("have the text and the thoughts of any pieces", () => {
    fc.assert(
      fc.property(fc.array(fc.record({ text: fc.string({ unit: "binary" }), reasoning: fc.string() })), (pieces) => {
        const lines = stream(pieces);
        const joined = (part: (message: (typeof lines)[number]["message"]) => string | undefined) =>
          lines.map(({ message }) => part(message) ?? "").join("");
        expect(joined(({ content }) => content)).toBe(pieces.map(({ text }) => text).join(""));
        expect(joined(({ thinking }) => thinking)).toBe(pieces.map(({ reasoning }) => reasoning).join(""));
        expect(lines.map(({ done }) => done)).toEqual([...Array(lines.length - 1).fill(false), true]);
      }),
    );
  });

  it("have whole calls, without one that was cut off", () => {
    const piece = (index: number, args: string, name?: string) => ({
      toolCalls: [{ index, arguments: args, ...(name !== undefined && { id: `call_${index}`, name }) }],
    });
    const lines = stream([piece(0, '{"a"', "f"), piece(0, ": 1}"), piece(1, "", "g"), piece(1, '{"b": ')]);
    expect(lines.flatMap(({ message }) => message.tool_calls ?? [])).toEqual([
      { id: "call_0", function: { index: 0, name: "f", arguments: { a: 1 } } },
    ]);
  });

  it("end with the counts, and durations in nanoseconds", () => {
    expect(stream([{ text: "x" }]).at(-1)).toEqual({
      model: "asked",
      created_at: "2023-11-14T22:13:22.000Z",
      message: { role: "assistant", content: "" },
      done: true,
      done_reason: "stop",
      total_duration: 7_500_000,
      load_duration: 1_500_000,
      prompt_eval_count: 3,
      prompt_eval_duration: 2_000_000,
      eval_count: 2,
      eval_duration: 4_000_000,
    });
  });

  it("have a time of their own", () => {
    expect(stream([{ text: "x" }]).map(({ created_at }) => created_at)).toEqual([
      "2023-11-14T22:13:20.000Z",
      "2023-11-14T22:13:21.000Z",
      "2023-11-14T22:13:22.000Z",
    ]);
  });

  it("end with an error's text where the answer fails", () => {
    const error = new ApiError("engine_died", "The engine died.");
    expect(new AnswerLines({ model: "m" }, clock(), chatMessage).failed(error)).toBe('{"error":"The engine died."}\n');
  });
});
