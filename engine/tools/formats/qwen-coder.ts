import { literal } from "../../../grammar/gbnf/literal.ts";
import type { FunctionTool } from "../../protocol/prompt.ts";
import { ArgumentMembers } from "../syntax/argument-members.ts";
import type { ToolFormat } from "../syntax/format.ts";
import type { Input, Reading } from "../syntax/input.ts";
import type { Output } from "../syntax/output.ts";
import { taggedValue } from "../syntax/tagged-arguments.ts";
import { taggedRule } from "../syntax/tagged-grammar.ts";
import { textWithout } from "../syntax/text-grammar.ts";
import { argumentSchemas } from "../syntax/tool-names.ts";

const OPEN = "<tool_call>";
const CLOSE = "</tool_call>";
const FUNCTION = "<function=";
const FUNCTION_END = "</function>";
const PARAMETER = "<parameter=";
const PARAMETER_END = "</parameter>";

/** Qwen3-Coder and later Qwens: `<tool_call><function=f><parameter=a>…</parameter></function></tool_call>`, each on lines. */
export const qwenCoder: ToolFormat = {
  name: "qwen-coder",
  marks: [OPEN, CLOSE],
  endsThought: [`${OPEN}\n${FUNCTION}`, OPEN + FUNCTION],
  fits: (template) => template.includes(FUNCTION) && template.includes(PARAMETER),

  *read(input, out, tools) {
    for (;;) {
      // Some models omit the first tag.
      const mark = yield* input.until([OPEN, FUNCTION], (text) => out.text(text));
      if (mark === null) return;
      if (!(yield* input.attempt(() => call(input, out, tools, mark)))) out.text(mark);
    }
  },

  syntax(tools, grammar) {
    const text = textWithout(grammar, `\n${PARAMETER_END}`);
    const calls = tools.map((tool) => {
      const { name } = tool;
      const one = (key: string, value: string) =>
        `${literal(`${PARAMETER}${key}>\n`)} ${value} ${literal(`\n${PARAMETER_END}\n`)}`;
      const args = taggedRule(tool, text, one);
      const end = literal(`${FUNCTION_END}\n${CLOSE}`);
      return `${literal(`${OPEN}\n${FUNCTION}${name}>\n`)} ${args} ${end}`;
    });
    return { calls, open: "", between: "[\\n]?", close: "", several: true, triggers: [OPEN] };
  },
};

function* call(input: Input, out: Output, tools: readonly FunctionTool[], mark: string): Reading<boolean> {
  if (mark === OPEN) {
    yield* input.space();
    if (!(yield* input.accepts(FUNCTION))) return false;
  }
  const name = yield* input.word(/[\w.-]/);
  if (name === "" || !(yield* input.accepts(">"))) return false;
  input.commit();
  out.call(name);
  const schemas = argumentSchemas(tools, name);
  const pass = (text: string) => out.arguments(text);
  const members = new ArgumentMembers(pass);
  for (;;) {
    const next = yield* input.until([PARAMETER, FUNCTION_END, CLOSE], () => {});
    if (next === null) return true;
    if (next !== PARAMETER) {
      members.end();
      if (next === CLOSE) return true;
      break;
    }
    const key = yield* input.textUntil([">"]);
    if (key === null) return true;
    yield* input.accepts("\n");
    members.key(key);
    if (!(yield* taggedValue(input, [`\n${PARAMETER_END}`, PARAMETER_END], schemas[key], pass))) return true;
  }
  yield* input.attempt(function* () {
    yield* input.space();
    return yield* input.accepts(CLOSE);
  });
  return true;
}
