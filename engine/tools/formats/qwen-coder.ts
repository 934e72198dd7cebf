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

const FUNCTION = "<function=";
const FUNCTION_END = "</function>";
const PARAMETER = "<parameter=";
const PARAMETER_END = "</parameter>";

interface Form {
  open: string;
  close: string;
  /** Around a value. */
  break: "\n" | "";
  fits: (template: string) => boolean;
}

/** Qwen3-Coder and later Qwens: `<tool_call><function=f><parameter=a>…</parameter></function></tool_call>`, each on lines. */
export const qwenCoder = functions("qwen-coder", {
  open: "<tool_call>",
  close: "</tool_call>",
  break: "\n",
  fits: (template) => template.includes(FUNCTION) && template.includes(PARAMETER),
});

/** Seed-OSS: the same in `<seed:tool_call>`, values without line breaks around. */
export const seed = functions("seed", {
  open: "<seed:tool_call>",
  close: "</seed:tool_call>",
  break: "",
  fits: (template) => template.includes("<seed:tool_call>"),
});

function functions(name: string, form: Form): ToolFormat {
  const { open, close, fits } = form;
  return {
    name,
    marks: [open, close],
    endsThought: [`${open}\n${FUNCTION}`, open + FUNCTION],
    fits,

    *read(input, out, tools) {
      for (;;) {
        // Some models omit the first tag.
        const mark = yield* input.until([open, FUNCTION], (text) => out.text(text));
        if (mark === null) return;
        if (!(yield* input.attempt(() => call(input, out, tools, mark, form)))) out.text(mark);
      }
    },

    syntax(tools, grammar) {
      const text = textWithout(grammar, form.break + PARAMETER_END);
      const calls = tools.map((tool) => {
        const one = (key: string, { bare }: TaggedValue) =>
          `${literal(`${PARAMETER}${key}>${form.break}`)} ${bare} ${literal(`${form.break}${PARAMETER_END}\n`)}`;
        const args = taggedRule(tool, grammar, text, one);
        const end = literal(`${FUNCTION_END}\n${close}`);
        return `(${literal(`${open}\n`)})? ${literal(`${FUNCTION}${tool.name}>\n`)} ${args} ${end}`;
      });
      const triggers = [open, ...tools.map((tool) => `${FUNCTION}${tool.name}>`)];
      return { calls, open: "", between: "[\\n]?", close: "", several: true, triggers };
    },
  };
}

function* call(
  input: Input,
  out: Output,
  tools: readonly FunctionTool[],
  mark: string,
  { open, close, break: lineBreak }: Form,
): Reading<boolean> {
  if (mark === open) {
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
    const next = yield* input.until([PARAMETER, FUNCTION_END, close], () => {});
    if (next === null) return true;
    if (next !== PARAMETER) {
      members.end();
      if (next === close) return true;
      break;
    }
    const key = yield* input.textUntil([">"]);
    if (key === null) return true;
    yield* input.accepts(lineBreak);
    members.key(key);
    if (!(yield* taggedValue(input, [lineBreak + PARAMETER_END, PARAMETER_END], schemas[key], pass))) return true;
  }
  yield* input.attempt(function* () {
    yield* input.space();
    return yield* input.accepts(close);
  });
  return true;
}
