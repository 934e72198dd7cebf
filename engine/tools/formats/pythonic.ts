import { literal } from "../../../grammar/gbnf/literal.ts";
import type { ToolFormat } from "../syntax/format.ts";
import type { Input, Reading } from "../syntax/input.ts";
import type { Output } from "../syntax/output.ts";
import { pythonCall } from "../syntax/python.ts";
import { keywordRule } from "../syntax/python-grammar.ts";
import { anyName, nameCheck } from "../syntax/tool-names.ts";

/** Marks before and after the list, in models that have them. */
const MARKS = ["<|python_start|>", "<|tool_call_start|>"];
const ENDS = ["<|python_end|>", "<|tool_call_end|>"];
/** Texts of templates that show no call: an example in Llama's, the list of tools in LFM2's, with and without marks. */
const SIGNS = ["[func_name1(", "<|tool_list_start|>", "List of tools: ["];

/**
 * Llama 3.2 and 4, LFM2 and ToolACE: `[f(a=1), g(b="x")]`, as the answer or between marks. Without marks it is a list of
 * calls only if it begins with an offered tool. Python literals become JSON.
 */
export const pythonic: ToolFormat = {
  name: "pythonic",
  marks: [...MARKS, ...ENDS],
  fits: (template) => [...MARKS, ...SIGNS].some((text) => template.includes(text)),

  *read(input, out, tools) {
    yield* input.space();
    yield* input.attempt(() => list(input, out, nameCheck(tools)));
    for (;;) {
      const mark = yield* input.until(MARKS, (text) => out.text(text));
      if (mark === null) return;
      const called = yield* input.attempt(function* () {
        yield* input.space();
        return yield* list(input, out, anyName);
      });
      if (!called) out.text(mark);
    }
  },

  syntax(tools, grammar) {
    const calls = tools.map((tool) => {
      return `${literal(`${tool.name}(`)} ${keywordRule(tool, grammar)} ")"`;
    });
    const triggers = [...MARKS, ...tools.map(({ name }) => `[${name}(`)];
    const open = `(${MARKS.map((mark) => literal(mark)).join(" | ")})? "["`;
    const close = `"]" (${ENDS.map((mark) => literal(mark)).join(" | ")})?`;
    return { calls, open, between: '", "', close, several: true, triggers };
  },
};

function* list(input: Input, out: Output, accepts: (name: string) => boolean): Reading<boolean> {
  if (!(yield* input.accepts("["))) return false;
  yield* input.space();
  if (!(yield* pythonCall(input, out, accepts))) return false;
  for (;;) {
    yield* input.space();
    if (!(yield* input.accepts(","))) break;
    yield* input.space();
    if (!(yield* pythonCall(input, out, anyName))) break;
  }
  yield* input.accepts("]");
  yield* input.attempt(function* () {
    yield* input.space();
    for (const end of ENDS) if (yield* input.accepts(end)) return true;
    return false;
  });
  return true;
}
