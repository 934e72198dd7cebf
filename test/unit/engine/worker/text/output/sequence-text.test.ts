import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { toolFormat } from "../../../../../../engine/tools/format-list.ts";
import { ToolParser } from "../../../../../../engine/tools/parser.ts";
import { SequenceText, type SequenceTextOptions } from "../../../../../../engine/worker/text/output/sequence-text.ts";
import { pieces } from "./pieces.ts";

const TAGS = { open: "<think>", close: "</think>" };
const PLAIN: SequenceTextOptions = { stop: [], reasoningTags: null, startsInReasoning: false };
const bytes = (text: string) => new TextEncoder().encode(text);

function run(options: SequenceTextOptions, parts: Uint8Array[]) {
  const sequence = new SequenceText(options);
  const result = { text: "", reasoning: "", stopped: false };
  for (const part of parts) {
    if (result.stopped) break;
    const certain = sequence.push(part);
    result.text += certain.text;
    result.reasoning += certain.reasoning;
    result.stopped = certain.stopped;
  }
  if (!result.stopped) {
    const rest = sequence.finish();
    result.text += rest.text;
    result.reasoning += rest.reasoning;
    result.stopped = rest.stopped;
  }
  return { ...result, reasoningTokens: sequence.reasoningTokens };
}

test("a plain sequence emits every token's text at once", () => {
  const sequence = new SequenceText(PLAIN);
  expect(sequence.push(bytes("Hel"))).toEqual({ text: "Hel", reasoning: "", stopped: false });
  expect(sequence.push(bytes(""))).toEqual({ text: "", reasoning: "", stopped: false });
  expect(sequence.finish()).toEqual({ text: "", reasoning: "", stopped: false });
});

test("a stop string ends the sequence in the answer and not in the reasoning", () => {
  const options = { stop: ["stop"], reasoningTags: TAGS, startsInReasoning: false };
  const tokens = ["<think>", "must I ", "stop", "?", "</think>", "\n\n", "I st", "op", "x"].map(bytes);
  expect(run(options, tokens)).toEqual({ text: "I ", reasoning: "must I stop?", stopped: true, reasoningTokens: 5 });
});

test("the tokens of a tag in parts count as reasoning", () => {
  const options = { stop: [], reasoningTags: TAGS, startsInReasoning: false };
  const tokens = ["<", "think", ">", "hm", "</", "think", ">", "\n", "Yes"].map(bytes);
  expect(run(options, tokens)).toEqual({ text: "Yes", reasoning: "hm", stopped: false, reasoningTokens: 7 });
});

test("a sequence that starts in reasoning counts it from its first token", () => {
  const options = { stop: [], reasoningTags: TAGS, startsInReasoning: true };
  expect(run(options, ["hm", "</think>", "Yes"].map(bytes))).toEqual({
    text: "Yes",
    reasoning: "hm",
    stopped: false,
    reasoningTokens: 2,
  });
});

test("an answer without reasoning has no reasoning tokens", () => {
  const options = { stop: [], reasoningTags: TAGS, startsInReasoning: false };
  expect(run(options, ["Yes", " <think>"].map(bytes))).toMatchObject({ text: "Yes <think>", reasoningTokens: 0 });
});

test("tokens before min_tokens complete no stop string", () => {
  const sequence = new SequenceText({ ...PLAIN, stop: ["a"] });
  expect(sequence.push(bytes("a"), false)).toEqual({ text: "a", reasoning: "", stopped: false });
  expect(sequence.push(bytes("ba"))).toEqual({ text: "b", reasoning: "", stopped: true });
});

test("finish() returns the held beginning of a stop string and a broken character", () => {
  const options = { ...PLAIN, stop: ["stop"] };
  expect(run(options, [bytes("a st"), Uint8Array.of(0xe2, 0x82)])).toMatchObject({ text: "a st\uFFFD" });
});

test("arbitrary token borders give the same text, reasoning and stop", () => {
  const unit = fc.constantFrom("<think>", "</think>", "<", "stop", "st", "é", "😀", " ", "\n", "x");
  const options = { stop: ["stop", "x x", "é😀"], reasoningTags: TAGS };
  const lengths = fc.array(fc.nat({ max: 7 }));
  fc.assert(
    fc.property(fc.array(unit), lengths, lengths, fc.boolean(), (units, one, other, startsInReasoning) => {
      const all = bytes(units.join(""));
      const { reasoningTokens: _one, ...first } = run({ ...options, startsInReasoning }, pieces(all, one));
      const { reasoningTokens: _other, ...second } = run({ ...options, startsInReasoning }, pieces(all, other));
      expect(first).toEqual(second);
    }),
    { numRuns: 1000 },
  );
});

describe("tool calls", () => {
  const reading = (format: string) => ({
    parser: new ToolParser(toolFormat(format), []),
    newId: () => "call_new",
  });
  const CALL = '<tool_call>{"name": "f", "arguments": {"a": "stop"}}</tool_call>';

  test("come by index after reasoning, and match no stop string", () => {
    const tags = { open: "<think>", close: "</think>" };
    const options = { stop: ["stop"], reasoningTags: tags, startsInReasoning: true, calls: reading("hermes") };
    const sequence = new SequenceText(options);
    expect(sequence.push(bytes("Hm</think>"))).toEqual({ text: "", reasoning: "Hm", stopped: false });
    expect(sequence.push(bytes(`So: ${CALL}`))).toEqual({
      text: "So:",
      reasoning: "",
      calls: [{ index: 0, id: "call_new", name: "f", arguments: '{"a": "stop"}' }],
      stopped: false,
    });
    expect(sequence.push(bytes('<tool_call>{"name": "g", "arguments": {"b"')).calls).toEqual([
      { index: 1, id: "call_new", name: "g", arguments: '{"b"' },
    ]);
    expect(sequence.push(bytes(": 1}")).calls).toEqual([{ index: 1, arguments: ": 1}" }]);
    expect(sequence.push(bytes("}</tool_call> stop"))).toEqual({ text: "", reasoning: "", stopped: true });
    expect(sequence.called).toBe(true);
  });

  test("come after the text before them, also where that may begin a stop string", () => {
    const sequence = new SequenceText({ ...PLAIN, stop: ["Sure, but"], calls: reading("hermes") });
    expect(sequence.push(bytes("Sure"))).toEqual({ text: "", reasoning: "", stopped: false });
    expect(sequence.push(bytes(CALL))).toMatchObject({ text: "Sure", calls: [{ index: 0, name: "f" }] });
    expect(sequence.push(bytes(", but"))).toEqual({ text: ", but", reasoning: "", stopped: false });
    expect(sequence.finish()).toEqual({ text: "", reasoning: "", stopped: false });
  });

  test("reasoning in a channel counts as reasoning", () => {
    const sequence = new SequenceText({ ...PLAIN, calls: reading("harmony") });
    for (const token of ["<|channel|>", "analysis", "<|message|>", "Hm", " yes", "<|end|>", "<|start|>", "assistant"]) {
      sequence.push(bytes(token));
    }
    for (const token of ["<|channel|>", "final", "<|message|>"]) sequence.push(bytes(token));
    expect(sequence.push(bytes("Hello"))).toEqual({ text: "Hello", reasoning: "", stopped: false });
    expect(sequence.reasoningTokens).toBe(4);
  });
});
