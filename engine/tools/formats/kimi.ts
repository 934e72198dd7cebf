import { literal } from "../../../grammar/gbnf/literal.ts";
import { callBlocks } from "../syntax/call-block.ts";
import type { ToolFormat } from "../syntax/format.ts";
import type { Input, Reading } from "../syntax/input.ts";
import { argumentsUntil } from "../syntax/json-call.ts";
import type { Output } from "../syntax/output.ts";

const SECTION = "<|tool_calls_section_begin|>";
const SECTION_END = "<|tool_calls_section_end|>";
const CALL = "<|tool_call_begin|>";
const ARGUMENTS = "<|tool_call_argument_begin|>";
const CALL_END = "<|tool_call_end|>";

/** Kimi K2: each call begins with its id, `functions.NAME:INDEX`, which the model expects in the history. */
export const kimi: ToolFormat = {
  name: "kimi",
  marks: [SECTION, SECTION_END, CALL, ARGUMENTS, CALL_END],
  fits: (template) => template.includes(SECTION),
  read: callBlocks(SECTION, SECTION_END, oneCall),

  syntax(tools) {
    const calls = tools.map(({ name, argumentsRule }) => {
      const begin = `${literal(`${CALL}functions.${name}:`)} [0-9]+ ${literal(ARGUMENTS)}`;
      return `${begin} ${argumentsRule()} ${literal(CALL_END)}`;
    });
    const [open, close] = [literal(SECTION), literal(SECTION_END)];
    return { calls, open, between: "", close, several: true, triggers: [SECTION] };
  },
};

function* oneCall(input: Input, out: Output): Reading<boolean> {
  yield* input.space();
  if (!(yield* input.accepts(CALL))) return false;
  const id = (yield* input.word(/[^<\s]/)).trim();
  yield* input.space();
  const name = id.replace(/^functions\./, "").replace(/:\d+$/, "");
  if (name === "" || !(yield* input.accepts(ARGUMENTS))) return false;
  input.commit();
  out.call(name, id === name ? null : id);
  yield* argumentsUntil(input, out, [CALL_END]);
  return true;
}
