import type { GrammarBuilder } from "../../../grammar/conversion/builder.ts";
import { literal, oneOf } from "../../../grammar/gbnf/literal.ts";
import { isSchemaObject } from "../../../grammar/schema/keywords.ts";
import type { FunctionTool } from "../../protocol/prompt.ts";
import { ArgumentMembers } from "../syntax/argument-members.ts";
import { callBlocks } from "../syntax/call-block.ts";
import type { CallableTool, ToolFormat } from "../syntax/format.ts";
import type { Input, Reading } from "../syntax/input.ts";
import { MOST_DEPTH } from "../syntax/json.ts";
import type { Output } from "../syntax/output.ts";
import { schemaMembers } from "../syntax/schema-members.ts";
import { mayBeText, schemaTypes, taggedValue } from "../syntax/tagged-arguments.ts";
import { type TaggedValue, taggedRule } from "../syntax/tagged-grammar.ts";
import { textWithout } from "../syntax/text-grammar.ts";
import { anyName, argumentSchemas } from "../syntax/tool-names.ts";

/** The token before every tag of a call. */
const TOKEN = "]<]minimax[>[";
const OPEN = `${TOKEN}<tool_call>`;
const CLOSE = `${TOKEN}</tool_call>`;
const INVOKE = `${TOKEN}<invoke name="`;
const INVOKE_END = `${TOKEN}</invoke>`;
const ITEM = `${TOKEN}<item>`;
const TAG = `${TOKEN}<`;
const endOf = (tag: string) => `${TOKEN}</${tag}>`;

/** MiniMax M3: as M2's, but the name of an argument is its tag, and lists and objects are tags too: `<a><item>1</item></a>`. */
export const minimaxM3: ToolFormat = {
  name: "minimax-m3",
  marks: [TOKEN],
  endsThought: [OPEN],
  fits: (template) => template.includes(TOKEN),
  read: (input, out, tools) => callBlocks(OPEN, CLOSE, (...io) => invocation(...io, tools))(input, out),

  syntax(tools, grammar) {
    const text = textWithout(grammar, TOKEN);
    const calls = tools.map((tool) => {
      const one = (key: string, _: TaggedValue, schema: unknown) =>
        element(key, valueRule(schema, tool, grammar, text));
      const args = taggedRule(tool, grammar, text, one);
      return `${literal(`${INVOKE}${tool.name}">`)} ${args} ${literal(INVOKE_END)}`;
    });
    const [open, close] = [literal(`${OPEN}\n`), literal(`\n${CLOSE}`)];
    return { calls, open, between: "[\\n]", close, several: true, triggers: [OPEN] };
  },
};

function element(tag: string, value: string): string {
  return `${literal(`${TAG}${tag}>`)} ${value} ${literal(endOf(tag))}`;
}

/** Lists and objects of known members are tags. Objects without any are JSON, which the reading accepts. */
function valueRule(schema: unknown, tool: CallableTool, grammar: GrammarBuilder, text: string): string {
  if (!isSchemaObject(schema)) return text;
  if (schema.enum !== undefined || schema.const !== undefined) {
    const values = schema.enum ?? [schema.const];
    const written = (value: unknown) => literal(typeof value === "string" ? value : JSON.stringify(value));
    return Array.isArray(values) && values.length > 0 ? oneOf(values.map(written)) : tool.valueRule(schema);
  }
  if (mayBeText(schema)) return text;
  const rule = (one: unknown) => valueRule(one, tool, grammar, text);
  const alternatives = schema.anyOf ?? schema.oneOf;
  if (Array.isArray(alternatives) && alternatives.length > 0) return oneOf(alternatives.map(rule));
  if (schema.type === "array") return grammar.rule("items", `(${element("item", rule(schema.items))})*`);
  const members = schemaMembers(schema);
  if (schema.type !== "object" || members.length === 0) return tool.valueRule(schema);
  const parts = members.map(
    ({ key, schema: value, required }) => `(${element(key, rule(value))})${required ? "" : "?"}`,
  );
  return grammar.rule("members", parts.join(" "));
}

function* invocation(input: Input, out: Output, tools: readonly FunctionTool[]): Reading<boolean> {
  yield* input.space();
  if (!(yield* input.accepts(INVOKE))) return false;
  const name = yield* input.word(/[^"<>\n]/);
  if (!anyName(name) || !(yield* input.accepts('">'))) return false;
  input.commit();
  out.call(name);
  yield* members(input, argumentSchemas(tools, name), INVOKE_END, (text) => out.arguments(text), 0);
  return true;
}

/** Takes elements up to `end` as the members of an object. @returns false where its end is missing */
function* members(
  input: Input,
  schemas: Record<string, unknown>,
  end: string,
  pass: (text: string) => void,
  depth: number,
): Reading<boolean> {
  const object = new ArgumentMembers(pass);
  for (;;) {
    yield* input.space();
    if (yield* input.accepts(end)) {
      object.end();
      return true;
    }
    const key = (yield* input.accepts(TAG)) ? yield* input.textUntil([">"]) : null;
    if (key === null) return false;
    object.key(key);
    if (!(yield* value(input, schemas[key], endOf(key), pass, depth + 1))) return false;
  }
}

function* value(
  input: Input,
  schema: unknown,
  end: string,
  pass: (text: string) => void,
  depth: number,
): Reading<boolean> {
  const types = schemaTypes(schema);
  if ((types.includes("array") || types.includes("object")) && (yield* input.accepts(end))) {
    pass(types.includes("array") ? "[]" : "{}");
    return true;
  }
  const isNested = depth < MOST_DEPTH && !types.includes("string") && (yield* input.sees(TAG));
  if (isNested && (yield* input.sees(ITEM))) return yield* items(input, schema, end, pass, depth);
  if (isNested && !(yield* input.sees(end))) return yield* members(input, propertiesOf(schema), end, pass, depth);
  return yield* taggedValue(input, [end], schema, pass);
}

function* items(
  input: Input,
  schema: unknown,
  end: string,
  pass: (text: string) => void,
  depth: number,
): Reading<boolean> {
  pass("[");
  for (let first = true; ; first = false) {
    yield* input.space();
    if (yield* input.accepts(end)) break;
    if (!(yield* input.accepts(ITEM))) return false;
    if (!first) pass(", ");
    const [list] = alternativesOf(schema).filter((one) => isSchemaObject(one.items));
    if (!(yield* value(input, list?.items, endOf("item"), pass, depth + 1))) return false;
  }
  pass("]");
  return true;
}

function propertiesOf(schema: unknown): Record<string, unknown> {
  const lists = alternativesOf(schema).map((one) => (isSchemaObject(one.properties) ? one.properties : {}));
  return Object.assign({}, ...lists.reverse());
}

/** The schema, and those that it names as alternatives. */
function alternativesOf(schema: unknown): Record<string, unknown>[] {
  if (!isSchemaObject(schema)) return [];
  const others = schema.anyOf ?? schema.oneOf;
  return [schema, ...(Array.isArray(others) ? others.filter(isSchemaObject) : [])];
}
