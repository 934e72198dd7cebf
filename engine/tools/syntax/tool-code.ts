import { literal } from "../../../grammar/gbnf/literal.ts";
import { callBlocks } from "./call-block.ts";
import type { ToolFormat } from "./format.ts";
import type { Input, Reading } from "./input.ts";
import type { Output } from "./output.ts";
import { pythonCall } from "./python.ts";
import { keywordRule } from "./python-grammar.ts";
import { anyName } from "./tool-names.ts";

const OPEN = "```tool_code";
const CLOSE = "```";

/** Gemma 3 with a template that asks for it: Python in a fence, one call per line, some within `print(…)`. */
export const toolCode: ToolFormat = {
  name: "tool-code",
  marks: [],
  fits: (template) => template.includes("tool_code"),
  read: callBlocks(OPEN, CLOSE, line),

  syntax(tools, grammar) {
    const calls = tools.map((tool) => {
      return `${literal(`${tool.name}(`)} ${keywordRule(tool, grammar)} ")"`;
    });
    const [open, close] = [literal(`${OPEN}\n`), literal(`\n${CLOSE}`)];
    return { calls, open, between: "[\\n]", close, several: true, triggers: [OPEN] };
  },
};

function* line(input: Input, out: Output): Reading<boolean> {
  yield* input.space();
  const printed = yield* input.accepts("print(");
  yield* input.space();
  // Gemma writes the prefix at times, as Gemini does.
  yield* input.accepts("default_api.");
  if (!(yield* pythonCall(input, out, anyName))) return false;
  yield* input.space();
  if (printed) yield* input.accepts(")");
  return true;
}
