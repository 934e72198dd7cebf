import type { GrammarBuilder } from "../../grammar/builder.ts";
import { literal } from "../../grammar/literal.ts";
import type { CallableTool, CallSyntax, ToolFormat } from "./format.ts";
import { gemmaValue } from "./gemma-value.ts";
import type { Input, Reading } from "./input.ts";
import { membersRule } from "./members-grammar.ts";
import type { Output } from "./output.ts";
import { textWithout } from "./text-grammar.ts";
import { anyName } from "./tool-names.ts";

/** Refers to itself; no other rule has this name. */
const VALUE = "gemma-value";

interface Marks {
  open: string;
  close: string;
  /** Stands on both sides of a string. */
  quote: string;
  /** The model's own guess at the tool's answer begins. */
  response: string;
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
});

function gemma(name: string, marks: Marks): ToolFormat {
  return {
    name,
    marks: Object.values(marks),
    fits: (template) => template.includes(marks.open),
    read: (input, out) => read(input, out, marks),
    syntax: (tools, grammar) => syntax(tools, grammar, marks),
  };
}

function* read(input: Input, out: Output, marks: Marks): Reading {
  for (;;) {
    const mark = yield* input.until([marks.open, marks.response], (text) => out.text(text));
    if (mark === null) return;
    if (mark === marks.response) {
      out.end();
      yield* input.until([], () => {});
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

/** Names, required arguments, scalar types and enums are enforced; lists and maps hold anything of this form. */
function syntax(tools: readonly CallableTool[], grammar: GrammarBuilder, marks: Marks): CallSyntax {
  const quote = literal(marks.quote);
  const string = grammar.rule("gemma-string", `${quote} ${textWithout(grammar, marks.quote)} ${quote}`);
  const name = "[a-zA-Z0-9_-]+";
  const scalar = '"true" | "false" | "null" | "-"? [0-9]+ ("." [0-9]+)?';
  const list = `"[" (${VALUE} ("," ${VALUE})*)? "]"`;
  const map = `"{" (${name} ":" ${VALUE} ("," ${name} ":" ${VALUE})*)? "}"`;
  const any = grammar.rule(VALUE, `${string} | ${scalar} | ${list} | ${map}`);
  const types: Record<string, string> = {
    string,
    boolean: '("true" | "false")',
    integer: '"-"? [0-9]+',
    number: '"-"? [0-9]+ ("." [0-9]+)?',
  };
  const valueRule = (schema: unknown): string => {
    const fields = typeof schema === "object" && schema !== null ? schema : {};
    if ("enum" in fields && Array.isArray(fields.enum)) {
      const written = fields.enum.map((one: unknown) => {
        return literal(typeof one === "string" ? `${marks.quote}${one}${marks.quote}` : JSON.stringify(one));
      });
      return `(${written.join(" | ")})`;
    }
    return ("type" in fields && typeof fields.type === "string" ? types[fields.type] : undefined) ?? any;
  };
  const members = (parameters: Record<string, unknown>) =>
    membersRule(parameters, '","', (key, schema) => `${literal(`${key}:`)} ${valueRule(schema)}`);
  const calls = tools.map(({ name, parameters }) => {
    return `${literal(`${marks.open}call:${name}{`)} ${members(parameters)} ${literal(`}${marks.close}`)}`;
  });
  return { calls, open: "", between: "", close: "", several: true, triggers: [marks.open] };
}
