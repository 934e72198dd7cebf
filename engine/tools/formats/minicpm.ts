import { literal } from "../../../grammar/gbnf/literal.ts";
import type { FunctionTool } from "../../protocol/prompt.ts";
import { ArgumentMembers } from "../syntax/argument-members.ts";
import type { ToolFormat } from "../syntax/format.ts";
import type { Input, Reading } from "../syntax/input.ts";
import { escaped } from "../syntax/json.ts";
import type { Output } from "../syntax/output.ts";
import { isText, taggedValue } from "../syntax/tagged-arguments.ts";
import { type TaggedValue, taggedRule } from "../syntax/tagged-grammar.ts";
import { textWithout } from "../syntax/text-grammar.ts";
import { anyName, argumentSchemas } from "../syntax/tool-names.ts";

const FUNCTION = '<function name="';
const FUNCTION_END = "</function>";
const PARAM = '<param name="';
const PARAM_END = "</param>";
const CDATA = "<![CDATA[";
const CDATA_END = `]]>${PARAM_END}`;

/** MiniCPM 5: `<function name="f"><param name="a">…</param></function>`; text with marks is in `<![CDATA[…]]>`. */
export const minicpm: ToolFormat = {
  name: "minicpm5",
  marks: [],
  endsThought: [FUNCTION],
  fits: (template) => template.includes(FUNCTION) && template.includes(PARAM),

  *read(input, out, tools) {
    for (;;) {
      if ((yield* input.until([FUNCTION], (text) => out.text(text))) === null) return;
      if (!(yield* input.attempt(() => call(input, out, tools)))) out.text(FUNCTION);
    }
  },

  syntax(tools, grammar) {
    const plain = textWithout(grammar, PARAM_END);
    const data = textWithout(grammar, CDATA_END);
    const text = grammar.rule("content", `${literal(CDATA)} ${data} "]]>" | ([^<] ${plain})?`);
    const calls = tools.map((tool) => {
      const one = (key: string, { bare }: TaggedValue) =>
        `${literal(`${PARAM}${key}">`)} ${bare} ${literal(PARAM_END)}`;
      return `${literal(`${FUNCTION}${tool.name}">`)} ${taggedRule(tool, grammar, text, one)} ${literal(FUNCTION_END)}`;
    });
    return { calls, open: "", between: "[\\n]?", close: "", several: true, triggers: [FUNCTION] };
  },
};

function* call(input: Input, out: Output, tools: readonly FunctionTool[]): Reading<boolean> {
  const name = yield* input.word(/[^"<>\n]/);
  if (!anyName(name) || !(yield* input.accepts('">'))) return false;
  input.commit();
  out.call(name);
  const schemas = argumentSchemas(tools, name);
  const pass = (text: string) => out.arguments(text);
  const members = new ArgumentMembers(pass);
  for (;;) {
    const mark = yield* input.until([PARAM, FUNCTION_END], () => {});
    if (mark !== PARAM) {
      if (mark !== null) members.end();
      return true;
    }
    const key = yield* input.textUntil(['">']);
    if (key === null) return true;
    members.key(key);
    if (!(yield* value(input, schemas[key], pass))) return true;
  }
}

/** @returns false where its end is missing */
function* value(input: Input, schema: unknown, pass: (text: string) => void): Reading<boolean> {
  if (!(yield* input.accepts(CDATA))) return yield* taggedValue(input, [PARAM_END], schema, pass);
  if (!isText(schema)) return yield* taggedValue(input, [CDATA_END], schema, pass);
  pass('"');
  if ((yield* input.until([CDATA_END], (text) => pass(escaped(text)))) === null) return false;
  pass('"');
  return true;
}
