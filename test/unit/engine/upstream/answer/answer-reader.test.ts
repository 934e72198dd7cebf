import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import type { SequenceOutput } from "../../../../../engine/protocol/output.ts";
import { AnswerReader, type AnswerReaderParts } from "../../../../../engine/upstream/answer/answer-reader.ts";

function readerOf(parts: Partial<AnswerReaderParts> = {}) {
  const reader = new AnswerReader({
    ...{
      kind: "chat",
      choices: 1,
      usageByChoice: false,
      promptEstimate: 3,
      mostTokens: 1000,
      callId: () => "call_new",
    },
    ...parts,
  });
  const choice = (fields: object, index = 0) => reader.read({ choices: [{ index, finish_reason: null, ...fields }] });
  const delta = (fields: object, index = 0) => choice({ delta: fields }, index);
  const call = (fields: object) => delta({ tool_calls: [fields] })[0]?.toolCalls?.[0];
  return { reader, choice, delta, call };
}
const stop = { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] };

describe("an answer of n choices", () => {
  it("has the text, the reasoning and the calls of each, however they take turns", () => {
    const piece = fc.oneof(
      fc.record({ content: fc.string() }),
      fc.record({ reasoning: fc.string() }),
      fc.record({ reasoning_content: fc.string() }),
      fc.record({ arguments: fc.string() }),
    );
    const turn = fc.tuple(fc.nat(3), piece);
    fc.assert(
      fc.property(fc.array(turn, { maxLength: 40 }), fc.nat(200), (turns, completion) => {
        const { reader } = readerOf({ choices: 4 });
        const want = Array.from({ length: 4 }, () => ({ text: "", reasoning: "", args: "" }));
        const got = structuredClone(want);
        const take = (outputs: SequenceOutput[]) => {
          for (const { index, text, reasoning, toolCalls = [] } of outputs) {
            got[index]!.text += text;
            got[index]!.reasoning += reasoning;
            for (const called of toolCalls) got[index]!.args += called.arguments;
          }
        };
        for (const [index, fields] of turns) {
          const one: Record<string, string | undefined> = fields;
          want[index]!.text += one.content ?? "";
          want[index]!.reasoning += (one.reasoning ?? "") + (one.reasoning_content ?? "");
          want[index]!.args += one.arguments ?? "";
          const { arguments: args, ...rest } = one;
          const delta =
            args === undefined ? rest : { tool_calls: [{ index: 0, function: { name: "f", arguments: args } }] };
          take(reader.read({ choices: [{ index, delta, finish_reason: null }] }));
        }
        for (let index = 0; index < 4; index++) {
          take(reader.read({ choices: [{ index, delta: {}, finish_reason: "stop" }] }));
        }
        reader.read({ choices: [], usage: { prompt_tokens: 7, completion_tokens: completion } });
        const { outputs, counted } = reader.end();
        expect(got).toEqual(want);
        const tokens = outputs.reduce((sum, { finish }) => sum + finish!.completionTokens, 0);
        expect(tokens).toBe(counted.completionTokens.reduce((sum, one) => sum + one, 0));
        if (!counted.estimated) expect(tokens).toBe(completion);
        expect(outputs.every(({ finish }) => finish!.completionTokens >= 0)).toBe(true);
      }),
    );
  });

  it("is unreadable where a choice comes that was not asked for, or one has no end", () => {
    const { reader, delta } = readerOf({ choices: 2 });
    expect(() => delta({ content: "x" }, 2)).toThrow("was not asked for");
    expect(() => delta({ content: "x" }, -1)).toThrow("was not asked for");
    expect(() => reader.read({ choices: [{ index: "0" }] })).toThrow("was not asked for");
    reader.read(stop);
    expect(reader.finished).toBe(false);
    expect(() => reader.end()).toThrow("ended before");
  });

  test.each([[null], [7], ["x"], [[]], [{}], [{ choices: null }], [{ choices: [] }]])("has nothing of %j", (chunk) => {
    expect(readerOf().reader.read(chunk)).toEqual([]);
  });

  test.each([[{ choices: "x" }], [{ choices: {} }]])("is unreadable with %j", (chunk) => {
    expect(() => readerOf().reader.read(chunk)).toThrow("no list");
  });

  it("survives any value in place of a chunk", () => {
    const key = fc.constantFrom("choices", "index", "delta", "message", "tool_calls", "function", "logprobs", "usage");
    const chunk = fc.object({ key, maxDepth: 4, withBigInt: false });
    fc.assert(
      fc.property(chunk, (value) => {
        const { reader } = readerOf();
        try {
          reader.read(value);
        } catch (error) {
          expect(String(error)).toMatch(/no list|not asked for|no name|broke/);
        }
      }),
    );
  });
});

describe("the end of a choice", () => {
  const finishOf = (fields: object) => {
    const { reader } = readerOf();
    reader.read({ choices: [{ index: 0, delta: {}, ...fields }] });
    const { finish } = reader.end().outputs[0]!;
    return { reason: finish!.reason, stop: finish!.stop };
  };
  test.each([
    [{ finish_reason: "stop" }, { reason: "stop", stop: null }],
    [{ finish_reason: "length" }, { reason: "length", stop: null }],
    [{ finish_reason: "tool_calls" }, { reason: "tool_calls", stop: null }],
    [{ finish_reason: "function_call" }, { reason: "tool_calls", stop: null }],
    [{ finish_reason: "content_filter" }, { reason: "stop", stop: null }],
    [
      { finish_reason: "stop", stop_reason: "END" },
      { reason: "stop", stop: "END" },
    ],
    [
      { finish_reason: "stop", stop_reason: 128_009 },
      { reason: "stop", stop: null },
    ],
    [
      { finish_reason: "stop", matched_stop: "END" },
      { reason: "stop", stop: "END" },
    ],
  ])("is read of %j", (fields, finish) => {
    expect(finishOf(fields)).toEqual(finish);
  });

  it("has not come with an empty reason", () => {
    const { reader, choice } = readerOf();
    choice({ delta: { content: "a" }, finish_reason: "" });
    expect(reader.finished).toBe(false);
  });

  test.each(["abort", "error"])("is a failure where the upstream says %s", (finish_reason) => {
    expect(() => readerOf().choice({ delta: {}, finish_reason })).toThrow("broke the answer off");
  });
});

describe("calls of tools", () => {
  it("have their own indexes, whichever the upstream begins with", () => {
    const { call } = readerOf();
    expect(call({ index: 1, id: "a", function: { name: "f", arguments: "" } })).toMatchObject({ index: 0, id: "a" });
    expect(call({ index: 1, function: { arguments: "{" } })).toEqual({ index: 0, arguments: "{" });
    expect(call({ index: 2, id: "b", function: { name: "g" } })).toMatchObject({ index: 1, id: "b", name: "g" });
    expect(call({ index: 1, function: { arguments: "}" } })).toEqual({ index: 0, arguments: "}" });
  });

  it("are apart by their ids where all have the index 0", () => {
    const { call } = readerOf();
    expect(call({ index: 0, id: "a", function: { name: "f", arguments: "{}" } })?.index).toBe(0);
    expect(call({ index: 0, id: "b", function: { name: "f", arguments: "{}" } })?.index).toBe(1);
    expect(call({ index: 0, function: { arguments: " " } })?.index).toBe(1);
  });

  it("are one where id and name come with every piece", () => {
    const { call } = readerOf();
    call({ index: 0, id: "a", function: { name: "f", arguments: "{" } });
    expect(call({ index: 0, id: "a", function: { name: "f", arguments: "}" } })).toEqual({ index: 0, arguments: "}" });
  });

  it("get ids where they have none, and continue without an index", () => {
    const { call } = readerOf();
    expect(call({ function: { name: "f" } })).toMatchObject({ index: 0, id: "call_new" });
    expect(call({ function: { arguments: "{}" } })).toEqual({ index: 0, arguments: "{}" });
    expect(call({ function: { name: "g", arguments: "{}" } })).toMatchObject({ index: 1, name: "g" });
  });

  it("are unreadable without a name", () => {
    expect(() => readerOf().call({ index: 0, id: "a", function: { arguments: "{}" } })).toThrow("no name");
  });

  it("are read of a message that was not streamed", () => {
    const { choice } = readerOf();
    const calls = ["f", "g"].map((name) => ({
      id: `id_${name}`,
      type: "function",
      function: { name, arguments: "{}" },
    }));
    const [output] = choice({ message: { content: null, tool_calls: calls }, finish_reason: "tool_calls" });
    expect(output!.toolCalls).toMatchObject([
      { index: 0, id: "id_f" },
      { index: 1, id: "id_g" },
    ]);
  });
});

describe("log probabilities", () => {
  it("are read of chats, by bytes where there are any", () => {
    const { choice } = readerOf();
    const entry = { token: "�", bytes: [226, 130], logprob: -1, top_logprobs: [{ token: "b", logprob: -2 }] };
    const [output] = choice({ delta: { content: "x" }, logprobs: { content: [entry] } });
    expect(output!.logprobs).toEqual([
      { bytes: Uint8Array.of(226, 130), logprob: -1, top: [{ bytes: Buffer.from("b"), logprob: -2 }] },
    ]);
  });

  it("are read of completions, from lists side by side", () => {
    const { choice } = readerOf({ kind: "text" });
    const logprobs = { tokens: ["a", "b"], token_logprobs: [-1, -2], top_logprobs: [{ c: -3 }, null] };
    expect(choice({ text: "ab", logprobs })[0]!.logprobs).toEqual([
      { bytes: Buffer.from("a"), logprob: -1, top: [{ bytes: Buffer.from("c"), logprob: -3 }] },
      { bytes: Buffer.from("b"), logprob: -2, top: [] },
    ]);
  });

  it("are read of completions that have them in the form of chats", () => {
    const { choice } = readerOf({ kind: "text" });
    const entry = { token: "a", bytes: [97], logprob: -1, top_logprobs: [] };
    expect(choice({ text: "a", logprobs: { content: [entry] } })[0]!.logprobs).toEqual([
      { bytes: Uint8Array.of(97), logprob: -1, top: [] },
    ]);
  });
});
