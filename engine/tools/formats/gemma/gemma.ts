import type { GrammarBuilder } from "../../../../grammar/conversion/builder.ts";
import { literal } from "../../../../grammar/gbnf/literal.ts";
import type { CallableTool, CallSyntax, ToolFormat } from "../../syntax/format.ts";
import type { Input, Reading } from "../../syntax/input.ts";
import { membersRule } from "../../syntax/members-grammar.ts";
import type { Output } from "../../syntax/output.ts";
import { anyName } from "../../syntax/tool-names.ts";
import { gemmaValue } from "./value.ts";
import { valueRules } from "./value-grammar.ts";

interface Marks {
  open: string;
  close: string;
  /** The mark on both sides of a string. */
  quote: string;
  /** The beginning of the tool's result, as the model imagines it. */
  response: string;
  /** Around reasoning: the model may reason again, or close reasoning twice. */
  thought?: { open: string; name: string; close: string };
}

/** FunctionGemma: `<start_function_call>call:f{a:<escape>x<escape>}<end_function_call>`. */
export const functionGemma = gemma("functiongemma", {
  open: "<start_function_call>",
  close: "<end_function_call>",
  quote: "<escape>",
  response: "<start_function_response>",
});

/** Gemma 4: `<|tool_call>call:f{a:<|"|>x<|"|>}<tool_call|>`. */
export const gemma4 = gemma("gemma4", {
  open: "<|tool_call>",
  close: "<tool_call|>",
  quote: '<|"|>',
  response: "<|tool_response>",
  thought: { open: "<|channel>", name: "thought", close: "<channel|>" },
});

function gemma(name: string, marks: Marks): ToolFormat {
  return {
    name,
    marks: [marks.open, marks.close, marks.quote, marks.response, ...thoughtMarks(marks)],
    ...(marks.thought !== undefined && { always: true }),
    fits: (template) => template.includes(marks.open),
    read: (input, out) => read(input, out, marks),
    syntax: (tools, grammar) => syntax(tools, grammar, marks),
  };
}

function thoughtMarks({ thought }: Marks): string[] {
  return thought === undefined ? [] : [thought.open, thought.close];
}

function* read(input: Input, out: Output, marks: Marks): Reading {
  for (;;) {
    const mark = yield* input.until([marks.open, marks.response, ...thoughtMarks(marks)], (text) => out.text(text));
    if (mark === null) return;
    if (mark === marks.response) {
      out.end();
      yield* input.until([], () => {});
    } else if (mark === marks.thought?.open) {
      if (!(yield* input.accepts(marks.thought.name))) continue;
      yield* input.space();
      out.thinking = true;
      yield* input.until([marks.thought.close], (text) => out.thought(text));
      out.thinking = false;
    } else if (mark === marks.thought?.close) {
      yield* input.space();
    } else if (!(yield* input.attempt(() => call(input, out, marks)))) out.text(mark);
  }
}

function* call(input: Input, out: Output, marks: Marks): Reading<boolean> {
  yield* input.space();
  yield* input.accepts("call:");
  const name = yield* input.word(/[\w.-]/);
  yield* input.space();
  if (!anyName(name) || (yield* input.peek()) !== "{") return false;
  input.commit();
  out.call(name);
  const whole = yield* gemmaValue(input, (text) => out.arguments(text), marks.quote);
  yield* input.until([marks.close], (text) => whole || out.arguments(text));
  return true;
}

/**
 * Enforces names, required arguments, types, enums, and lists and maps of these; not lengths, bounds, patterns and
 * references.
 */
function syntax(tools: readonly CallableTool[], grammar: GrammarBuilder, marks: Marks): CallSyntax {
  const valueRule = valueRules(grammar, marks.quote);
  const calls = tools.map(({ name, parameters }) => {
    const members = membersRule(parameters, '","', (key, schema) => `${literal(`${key}:`)} ${valueRule(schema)}`);
    return `${literal(`${marks.open}call:${name}{`)} ${members} ${literal(`}${marks.close}`)}`;
  });
  return { calls, open: "", between: "", close: "", several: true, triggers: [marks.open] };
}
