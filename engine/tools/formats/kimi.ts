import { literal } from "../../../grammar/gbnf/literal.ts";
import type { ToolFormat } from "../syntax/format.ts";
import type { Input, Reading } from "../syntax/input.ts";
import { argumentsUntil } from "../syntax/json-call.ts";
import type { Output } from "../syntax/output.ts";

const SECTION = "<|tool_calls_section_begin|>";
const SECTION_END = "<|tool_calls_section_end|>";
const CALL = "<|tool_call_begin|>";
const ARGUMENTS = "<|tool_call_argument_begin|>";
const CALL_END = "<|tool_call_end|>";

/**
 * Kimi K2: each call begins with its id, `functions.NAME:INDEX`, which the model expects in the history. At times it omits
 * the marks of the section and the ends of the calls.
 */
export const kimi: ToolFormat = {
  name: "kimi",
  marks: [SECTION, SECTION_END, CALL, ARGUMENTS, CALL_END],
  endsThought: [SECTION, CALL],
  fits: (template) => template.includes(SECTION),

  *read(input, out) {
    let inSection = false;
    let mark: string | null = null;
    for (;;) {
      const marks: string[] = inSection ? [SECTION, CALL, SECTION_END] : [SECTION, CALL];
      const begin: string | null = mark ?? (yield* input.until(marks, (text) => out.text(text)));
      if (begin === null) return;
      mark = null;
      inSection = begin !== SECTION_END;
      if (!inSection) continue;
      const called: boolean = yield* input.attempt(function* () {
        const end: CallEnd = yield* oneCall(input, out, begin);
        mark = end.mark === CALL_END ? null : end.mark;
        return end.called;
      });
      if (!called) out.text(begin);
      inSection = called;
    }
  },

  syntax(tools) {
    const calls = tools.map(({ name, argumentsRule }) => {
      const begin = `${literal(`${CALL}functions.${name}:`)} [0-9]+ ${literal(ARGUMENTS)}`;
      return `${begin} ${argumentsRule()} ${literal(CALL_END)}`;
    });
    const [open, close] = [`(${literal(SECTION)})?`, `(${literal(SECTION_END)})?`];
    return { calls, open, between: "", close, several: true, triggers: [SECTION, CALL] };
  },
};

interface CallEnd {
  called: boolean;
  /** The mark at its end. */
  mark: string | null;
}

/** @param begin its mark, or that of a section that it begins */
function* oneCall(input: Input, out: Output, begin: string): Reading<CallEnd> {
  const none = { called: false, mark: null };
  yield* input.space();
  if (begin === SECTION && !(yield* input.accepts(CALL))) return none;
  yield* input.space();
  const id = (yield* input.word(/[^<\s]/)).trim();
  yield* input.space();
  const name = id.replace(/^functions\./, "").replace(/:\d+$/, "");
  if (name === "" || !(yield* input.accepts(ARGUMENTS))) return none;
  input.commit();
  out.call(name, id === name ? null : id);
  return { called: true, mark: yield* argumentsUntil(input, out, [CALL_END, CALL, SECTION_END]) };
}
