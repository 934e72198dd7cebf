import { literal } from "../../../grammar/gbnf/literal.ts";
import { callBlocks } from "../syntax/call-block.ts";
import type { CallableTool, CallSyntax, ToolFormat } from "../syntax/format.ts";
import type { Input, Reading } from "../syntax/input.ts";
import { argumentsUntil } from "../syntax/json-call.ts";
import type { Output } from "../syntax/output.ts";

const CALLS = "<｜tool▁calls▁begin｜>";
const CALLS_END = "<｜tool▁calls▁end｜>";
const CALL = "<｜tool▁call▁begin｜>";
const CALL_END = "<｜tool▁call▁end｜>";
const SEP = "<｜tool▁sep｜>";
const MARKS = [CALLS, CALLS_END, CALL, CALL_END, SEP];
const FENCE = "```json";

/** Reads both forms: models of one are served with templates of the other. */
const read = callBlocks(CALLS, CALLS_END, oneCall);

/** DeepSeek V3 and R1: the name after a separator, the arguments in a fence. */
export const deepseek: ToolFormat = {
  name: "deepseek",
  marks: MARKS,
  example: `${CALLS}${CALL}function${SEP}NAME\n${FENCE}\n{"argument": "value"}\n\`\`\`${CALL_END}${CALLS_END}`,
  fits: (template) => template.includes(CALLS) && template.includes(FENCE),
  read,
  syntax: (tools) =>
    syntax(tools, ({ name, argumentsRule }) => {
      const begin = literal(`${CALL}function${SEP}${name}\n${FENCE}\n`);
      return `${begin} ${argumentsRule()} [\\n]? ${literal(`\`\`\`${CALL_END}`)}`;
    }),
};

/** DeepSeek V3.1 and later: the name before the separator, the arguments without a fence. */
export const deepseekV31: ToolFormat = {
  name: "deepseek-v3.1",
  marks: MARKS,
  example: `${CALLS}${CALL}NAME${SEP}{"argument": "value"}${CALL_END}${CALLS_END}`,
  fits: (template) => template.includes(CALLS) && !template.includes(FENCE),
  read,
  syntax: (tools) =>
    syntax(tools, ({ name, argumentsRule }) => {
      return `${literal(`${CALL}${name}${SEP}`)} ${argumentsRule()} ${literal(CALL_END)}`;
    }),
};

function syntax(tools: readonly CallableTool[], call: (tool: CallableTool) => string): CallSyntax {
  return {
    calls: tools.map(call),
    open: literal(CALLS),
    between: "[\\n]?",
    close: literal(CALLS_END),
    several: true,
    triggers: [CALLS],
  };
}

function* oneCall(input: Input, out: Output): Reading<boolean> {
  yield* input.space();
  if (!(yield* input.accepts(CALL))) return false;
  const head = (yield* input.word(/[^<\n]/)).trim();
  if (head === "" || !(yield* input.accepts(SEP))) return false;
  yield* input.space();
  const bare = (yield* input.peek()) === "{";
  const name = head === "function" && !bare ? (yield* input.word(/[^<\n`]/)).trim() : head;
  if (name === "") return false;
  input.commit();
  out.call(name);
  yield* input.space();
  yield* input.accepts(FENCE);
  yield* argumentsUntil(input, out, [CALL_END]);
  return true;
}
