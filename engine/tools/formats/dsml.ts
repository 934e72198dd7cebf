import { literal } from "../../../grammar/gbnf/literal.ts";
import { ArgumentMembers } from "../syntax/argument-members.ts";
import { callBlocks } from "../syntax/call-block.ts";
import type { CallableTool, CallSyntax, ToolFormat } from "../syntax/format.ts";
import type { Input, Reading } from "../syntax/input.ts";
import type { Output } from "../syntax/output.ts";
import { isText, taggedValue } from "../syntax/tagged-arguments.ts";
import { taggedRule } from "../syntax/tagged-grammar.ts";
import { textWithout } from "../syntax/text-grammar.ts";
import { anyName } from "../syntax/tool-names.ts";

const DSML = "｜DSML｜";
const INVOKE = `<${DSML}invoke name="`;
const INVOKE_END = `</${DSML}invoke>`;
const PARAMETER = `<${DSML}parameter name="`;
const PARAMETER_END = `</${DSML}parameter>`;
const TEXT: Record<string, unknown> = { type: "string" };

/** DeepSeek V3.2: `<｜DSML｜function_calls><｜DSML｜invoke name="f"><｜DSML｜parameter name="a" string="true">…`, each on lines. */
export const deepseekV32 = dsml(
  "deepseek-v3.2",
  "function_calls",
  (template) => template.includes("DSML") && template.includes("function_calls"),
);

/** DeepSeek V4: the same in a block `tool_calls`. */
export const deepseekV4 = dsml("deepseek-v4", "tool_calls", (template) => template.includes("DSML"));

function dsml(name: string, block: string, fits: (template: string) => boolean): ToolFormat {
  const [open, close] = [`<${DSML}${block}>`, `</${DSML}${block}>`];
  return {
    name,
    marks: [DSML],
    endsThought: [open],
    fits,
    read: callBlocks(open, close, invocation),

    syntax(tools, grammar): CallSyntax {
      const text = textWithout(grammar, PARAMETER_END);
      const calls = tools.map((tool) => invocationRule(tool, text));
      return {
        calls,
        open: literal(`${open}\n`),
        between: "[\\n]",
        close: literal(`\n${close}`),
        several: true,
        triggers: [open],
      };
    },
  };
}

function invocationRule(tool: CallableTool, text: string): string {
  const one = (key: string, value: string, schema: unknown) => {
    const begin = (string: boolean) => literal(`${PARAMETER}${key}" string="${string}">`);
    const written = isText(schema) ? `${begin(true)} ${value}` : `${begin(false)} ${tool.valueRule(schema)}`;
    return `${written} ${literal(`${PARAMETER_END}\n`)}`;
  };
  return `${literal(`${INVOKE}${tool.name}">\n`)} ${taggedRule(tool, text, one)} ${literal(INVOKE_END)}`;
}

function* invocation(input: Input, out: Output): Reading<boolean> {
  yield* input.space();
  if (!(yield* input.accepts(INVOKE))) return false;
  const name = yield* input.word(/[^"<>\n]/);
  if (!anyName(name) || !(yield* input.accepts('">'))) return false;
  input.commit();
  out.call(name);
  const pass = (text: string) => out.arguments(text);
  const members = new ArgumentMembers(pass);
  for (;;) {
    const mark = yield* input.until([PARAMETER, INVOKE_END], () => {});
    if (mark !== PARAMETER) {
      if (mark !== null) members.end();
      return true;
    }
    const head = yield* input.textUntil(['">']);
    if (head === null) return true;
    const [key = "", kind = "true"] = head.split('" string="');
    members.key(key);
    // `string="…"` says whether the value is text or JSON.
    if (!(yield* taggedValue(input, [PARAMETER_END], kind === "true" ? TEXT : {}, pass))) return true;
  }
}
