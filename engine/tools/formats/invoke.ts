import type { GrammarBuilder } from "../../../grammar/conversion/builder.ts";
import { literal, oneOf } from "../../../grammar/gbnf/literal.ts";
import type { FunctionTool } from "../../protocol/prompt.ts";
import { ArgumentMembers } from "../syntax/argument-members.ts";
import { callBlocks } from "../syntax/call-block.ts";
import type { CallableTool, ToolFormat } from "../syntax/format.ts";
import type { Input, Reading } from "../syntax/input.ts";
import type { Output } from "../syntax/output.ts";
import { taggedValue } from "../syntax/tagged-arguments.ts";
import { type TaggedValue, taggedRule } from "../syntax/tagged-grammar.ts";
import { textWithout } from "../syntax/text-grammar.ts";
import { anyName, argumentSchemas } from "../syntax/tool-names.ts";

interface Tags {
  /** Before the names of the tags. */
  prefix: string;
  /** True where an attribute says whether a value is text or JSON; else its schema does. */
  typed: boolean;
}

interface Form extends Tags {
  marks: readonly string[];
  open: string;
  close: string;
  fits: (template: string) => boolean;
}

const DSML = "｜DSML｜";
const TEXT: Record<string, unknown> = { type: "string" };

/** DeepSeek V3.2: `<｜DSML｜function_calls><｜DSML｜invoke name="f"><｜DSML｜parameter name="a" string="true">…`, each on lines. */
export const deepseekV32 = dsml(
  "deepseek-v3.2",
  "function_calls",
  (template) => template.includes("DSML") && template.includes("function_calls"),
);

/** DeepSeek V4: the same in a block `tool_calls`. */
export const deepseekV4 = dsml("deepseek-v4", "tool_calls", (template) => template.includes("DSML"));

/** MiniMax M2: `<minimax:tool_call><invoke name="f"><parameter name="a">…</parameter></invoke></minimax:tool_call>`, each on lines. */
export const minimax = invoke("minimax-m2", {
  marks: ["<minimax:tool_call>", "</minimax:tool_call>"],
  open: "<minimax:tool_call>",
  close: "</minimax:tool_call>",
  prefix: "",
  typed: false,
  fits: (template) => template.includes("<minimax:tool_call>"),
});

function dsml(name: string, block: string, fits: Form["fits"]): ToolFormat {
  const [open, close] = [`<${DSML}${block}>`, `</${DSML}${block}>`];
  return invoke(name, { marks: [DSML], open, close, prefix: DSML, typed: true, fits });
}

function invoke(name: string, form: Form): ToolFormat {
  const { marks, open, close, prefix, fits } = form;
  return {
    name,
    marks,
    endsThought: [open],
    fits,
    read: (input, out, tools) => callBlocks(open, close, (...io) => invocation(...io, tools, form))(input, out),

    syntax(tools, grammar) {
      const text = textWithout(grammar, `</${prefix}parameter>`);
      const calls = tools.map((tool) => invocationRule(tool, grammar, text, form));
      const [begin, end] = [literal(`${open}\n`), literal(`\n${close}`)];
      return { calls, open: begin, between: "[\\n]", close: end, several: true, triggers: [open] };
    },
  };
}

/** Right-hand side for `<invoke name="f">…</invoke>`; `text` is the rule of a bare value. */
export function invocationRule(
  tool: CallableTool,
  grammar: GrammarBuilder,
  text: string,
  { prefix, typed }: Tags,
): string {
  const one = (key: string, { text: plain, json, bare }: TaggedValue) => {
    const begin = `<${prefix}parameter name="${key}"`;
    const end = literal(`</${prefix}parameter>\n`);
    if (!typed) return `${literal(`${begin}>`)} ${bare} ${end}`;
    const forms = [plain === null ? [] : `${literal(`${begin} string="true">`)} ${plain}`];
    forms.push(json === null ? [] : `${literal(`${begin} string="false">`)} ${json}`);
    return `${oneOf(forms.flat())} ${end}`;
  };
  const args = taggedRule(tool, grammar, text, one);
  return `${literal(`<${prefix}invoke name="${tool.name}">\n`)} ${args} ${literal(`</${prefix}invoke>`)}`;
}

/** Takes `<invoke name="f">…</invoke>` as a call. @returns false when there is none, and nothing was passed on */
export function* invocation(
  input: Input,
  out: Output,
  tools: readonly FunctionTool[],
  { prefix, typed }: Tags,
): Reading<boolean> {
  const [parameter, end] = [`<${prefix}parameter name="`, `</${prefix}invoke>`];
  yield* input.space();
  if (!(yield* input.accepts(`<${prefix}invoke name="`))) return false;
  const name = yield* input.word(/[^"<>\n]/);
  if (!anyName(name) || !(yield* input.accepts('">'))) return false;
  input.commit();
  out.call(name);
  const schemas = argumentSchemas(tools, name);
  const pass = (text: string) => out.arguments(text);
  const members = new ArgumentMembers(pass);
  for (;;) {
    const mark = yield* input.until([parameter, end], () => {});
    if (mark !== parameter) {
      if (mark !== null) members.end();
      return true;
    }
    const head = yield* input.textUntil(['">']);
    if (head === null) return true;
    const [key = "", kind = "true"] = typed ? head.split('" string="') : [head];
    members.key(key);
    const schema = typed ? (kind === "true" ? TEXT : {}) : schemas[key];
    if (!(yield* taggedValue(input, [`</${prefix}parameter>`], schema, pass))) return true;
  }
}
