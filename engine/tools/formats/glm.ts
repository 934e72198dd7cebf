import { literal } from "../../../grammar/gbnf/literal.ts";
import type { FunctionTool } from "../../protocol/prompt.ts";
import { ArgumentMembers } from "../syntax/argument-members.ts";
import type { ToolFormat } from "../syntax/format.ts";
import type { Input, Reading } from "../syntax/input.ts";
import type { Output } from "../syntax/output.ts";
import { taggedValue } from "../syntax/tagged-arguments.ts";
import { type TaggedValue, taggedRule } from "../syntax/tagged-grammar.ts";
import { textWithout } from "../syntax/text-grammar.ts";
import { argumentSchemas } from "../syntax/tool-names.ts";

const OPEN = "<tool_call>";
const CLOSE = "</tool_call>";
const KEY = "<arg_key>";
const KEY_END = "</arg_key>";
const VALUE = "<arg_value>";
const VALUE_END = "</arg_value>";

/** GLM 4.5 and later: `<tool_call>f`, then `<arg_key>…</arg_key><arg_value>…</arg_value>` for each argument. */
export const glm: ToolFormat = {
  name: "glm",
  marks: [OPEN, CLOSE, KEY, KEY_END, VALUE, VALUE_END],
  endsThought: [OPEN],
  fits: (template) => template.includes(KEY),

  *read(input, out, tools) {
    for (;;) {
      if ((yield* input.until([OPEN], (text) => out.text(text))) === null) return;
      if (!(yield* input.attempt(() => call(input, out, tools)))) out.text(OPEN);
    }
  },

  syntax(tools, grammar) {
    const text = textWithout(grammar, VALUE_END);
    const calls = tools.map((tool) => {
      const { name } = tool;
      const one = (key: string, { bare }: TaggedValue) =>
        `${literal(`${KEY}${key}${KEY_END}`)} [\\n]? ${literal(VALUE)} ${bare} ${literal(VALUE_END)} [\\n]?`;
      const args = taggedRule(tool, grammar, text, one);
      return `${literal(`${OPEN}${name}`)} [\\n]? ${args} ${literal(CLOSE)}`;
    });
    return { calls, open: "", between: "[\\n]?", close: "", several: true, triggers: [OPEN] };
  },
};

function* call(input: Input, out: Output, tools: readonly FunctionTool[]): Reading<boolean> {
  yield* input.space();
  const name = yield* input.word(/[\w.-]/);
  yield* input.space();
  const next = yield* input.peek();
  if (name === "" || next !== "<") return false;
  input.commit();
  out.call(name);
  const schemas = argumentSchemas(tools, name);
  const pass = (text: string) => out.arguments(text);
  const members = new ArgumentMembers(pass);
  for (;;) {
    const mark = yield* input.until([KEY, CLOSE], () => {});
    if (mark === null) return true;
    if (mark === CLOSE) {
      members.end();
      return true;
    }
    const key = yield* input.textUntil([KEY_END]);
    if (key === null || (yield* input.until([VALUE], () => {})) === null) return true;
    members.key(key);
    if (!(yield* taggedValue(input, [VALUE_END], schemas[key], pass))) return true;
  }
}
