import { describe, expect, test } from "vitest";
import type { FunctionTool, Prompt } from "../../../../../engine/protocol/prompt.ts";
import { toolFormat } from "../../../../../engine/tools/format-list.ts";
import { GrammarConstraint } from "../../../../../engine/worker/grammar/grammar-constraint.ts";
import { VocabularyGrammars } from "../../../../../engine/worker/grammar/vocabulary-grammar.ts";
import { ToolCallReader } from "../../../../../engine/worker/step/tool-call-reader.ts";
import { SequenceText } from "../../../../../engine/worker/text/output/sequence-text.ts";

const TEXTS = ["[TOOL_CALLS]", "f", "[ARGS]", '{"a": 1}', "<eos>", "no"];
const [CALLS, NAME, ARGS, JSON_TEXT, EOS, NO] = [0, 1, 2, 3, 4, 5];
const HIDDEN = [CALLS, ARGS, EOS];
const bytes = (text: string) => new TextEncoder().encode(text);

/** Marks of calls are control tokens here, which show no text. */
const VOCABULARY = {
  size: TEXTS.length,
  endTokens: [EOS],
  isEnd: (token: number) => token === EOS,
  piece: (token: number) => bytes(HIDDEN.includes(token) ? "" : TEXTS[token]!),
  hidden: (texts: readonly string[]) =>
    new Map(HIDDEN.filter((token) => texts.includes(TEXTS[token]!)).map((token) => [token, bytes(TEXTS[token]!)])),
};
const TOOL: FunctionTool = { type: "function", function: { name: "f" } };
const grammars = new VocabularyGrammars(VOCABULARY);

function prompt(...tools: FunctionTool[]): Prompt {
  return { kind: "chat", messages: [], variables: {}, thinking: { effort: null, budget: null }, tools };
}

function reading(format: string): ToolCallReader {
  return new ToolCallReader(toolFormat(format), VOCABULARY, grammars);
}

describe("marks that detokenizers hide", () => {
  const subject = reading("mistral-args");

  test("reach the tool parser as text, unlike other hidden tokens", () => {
    const asked = prompt(TOOL);
    if (!subject.reads(asked)) throw new Error("tools are offered");
    const calls = subject.calls(asked);
    const text = new SequenceText({ stop: [], reasoningTags: null, startsInReasoning: false, calls });
    const read = [CALLS, NAME, ARGS, JSON_TEXT].map((token) =>
      text.push(subject.marks.get(token) ?? VOCABULARY.piece(token)),
    );
    expect(read.flatMap((one) => one.calls ?? [])).toEqual([
      { index: 0, id: expect.stringMatching(/^call_[0-9a-f]{24}$/), name: "f", arguments: "" },
      { index: 0, arguments: '{"a": 1}' },
    ]);
    expect(subject.marks.has(EOS)).toBe(false);
  });

  test("can be required by a grammar", async () => {
    const rule = { gbnf: 'root ::= "[TOOL_CALLS]f[ARGS]" "{" [^}]* "}"\n', triggers: null };
    const owner = { tier: "default", isWanted: () => true } as const;
    const held = async (grammars: VocabularyGrammars) => {
      await grammars.prepare(rule, owner);
      const options = { rule, reasoningTags: null, startsInReasoning: false, wake: () => {} };
      const constraint = new GrammarConstraint({ ...options, grammars });
      expect(constraint.ready(owner)).toBe(true);
      return constraint;
    };
    const constraint = await held(subject.grammars);
    expect([constraint.allows(CALLS), constraint.allows(NO)]).toEqual([true, false]);
    expect((await held(grammars)).allows(CALLS)).toBe(false);
    for (const token of [CALLS, NAME, ARGS, JSON_TEXT]) constraint.accept(token);
    expect(constraint.allows(EOS)).toBe(true);
  });
});

/** A call within open reasoning, for formats whose models write one without closing the reasoning. */
const CALLS_IN_THOUGHT: Record<string, string> = {
  "qwen-coder": "<tool_call>\n<function=f>\n<parameter=a>\n1\n</parameter>\n</function>\n</tool_call>",
  glm: "<tool_call>f\n<arg_key>a</arg_key><arg_value>1</arg_value></tool_call>",
  kimi: '<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{"a": 1}<|tool_call_end|>',
  seed: "<seed:tool_call>\n<function=f>\n<parameter=a>1</parameter>\n</function>\n</seed:tool_call>",
  "minimax-m2":
    '<minimax:tool_call>\n<invoke name="f">\n<parameter name="a">1</parameter>\n</invoke>\n</minimax:tool_call>',
  "minimax-m3":
    ']<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name="f">]<]minimax[>[<a>1]<]minimax[>[</a>]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>',
  minicpm5: '<function name="f"><param name="a">1</param></function>',
  apertus: '<|tools_prefix|>[{"f": {"a": 1}}]<|tools_suffix|>',
  cohere: '<|START_ACTION|>[{"tool_call_id": "0", "tool_name": "f", "parameters": {"a": 1}}]<|END_ACTION|>',
  "kimi-k3":
    '<|open|>tools<|sep|><|open|>call tool="f" index="1"<|sep|><|open|>argument key="a" type="number"<|sep|>1<|close|>argument<|sep|><|close|>call<|sep|>',
  "deepseek-v3.2":
    '<｜DSML｜function_calls>\n<｜DSML｜invoke name="f">\n<｜DSML｜parameter name="a" string="false">1</｜DSML｜parameter>\n</｜DSML｜invoke>',
  "deepseek-v4":
    '<｜DSML｜tool_calls>\n<｜DSML｜invoke name="f">\n<｜DSML｜parameter name="a" string="false">1</｜DSML｜parameter>\n</｜DSML｜invoke>',
};

describe.each(Object.entries(CALLS_IN_THOUGHT))("%s", (name, call) => {
  const subject = reading(name);
  const options = { stop: [], reasoningTags: { open: "<think>", close: "</think>" }, startsInReasoning: true };
  const asked = prompt(TOOL);

  function read(...pieces: string[]) {
    if (!subject.reads(asked)) throw new Error("tools are offered");
    const text = new SequenceText({ ...options, callMarks: subject.callMarks(asked), calls: subject.calls(asked) });
    const parts = [...pieces.map((piece) => text.push(bytes(piece))), text.finish()];
    const calls = parts.flatMap((part) => part.calls ?? []);
    return {
      reasoning: parts.map((part) => part.reasoning).join(""),
      text: parts.map((part) => part.text).join(""),
      calls: calls.flatMap((one) => one.name ?? []),
      arguments: calls.map((one) => one.arguments).join(""),
    };
  }

  test("a call within open reasoning ends it, in whole and by character", () => {
    const expected = { reasoning: "I call f.\n", text: "", calls: ["f"], arguments: '{"a": 1}' };
    expect(read(`I call f.\n${call}`)).toEqual(expected);
    expect(read(...`I call f.\n${call}`)).toEqual(expected);
  });

  test("a call after the reasoning is read as before", () => {
    expect(read(`Hm.</think>\n${call}`)).toEqual({ reasoning: "Hm.", text: "", calls: ["f"], arguments: '{"a": 1}' });
  });
});

test("a call that models write into reasoning as an example stays there", () => {
  for (const name of ["hermes", "mistral-args", "pythonic"]) expect(reading(name).callMarks(prompt(TOOL))).toEqual([]);
  expect(reading("qwen-coder").callMarks(prompt())).toEqual([]);
});

test("without tools an answer is read only in formats that are always used", () => {
  expect(reading("hermes").reads(prompt())).toBe(false);
  expect(reading("harmony").reads(prompt())).toBe(true);
  expect(reading("harmony").reads({ kind: "text", text: "" })).toBe(false);
});
