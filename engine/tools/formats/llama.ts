import { literal } from "../../../grammar/gbnf/literal.ts";
import type { ToolFormat } from "../syntax/format.ts";
import type { Input, Reading } from "../syntax/input.ts";
import { jsonCall } from "../syntax/json-call.ts";
import type { Output } from "../syntax/output.ts";
import { anyName, nameCheck } from "../syntax/tool-names.ts";

const TAG = "<|python_tag|>";

/**
 * Llama 3.1 and later, and models that write bare JSON: `{"name": "f", "parameters": {…}}` as the answer, or after
 * `<|python_tag|>`. Several are separated by semicolons or are a list. JSON without the tag is a call only if it names an
 * offered tool, since an answer may be JSON too.
 */
export const llama: ToolFormat = {
  name: "llama",
  marks: [TAG],
  fits: (template) => template.includes(TAG) || template.includes("dictionary of argument name"),

  *read(input, out, tools) {
    yield* input.space();
    yield* calls(input, out, nameCheck(tools));
    for (;;) {
      if ((yield* input.until([TAG], (text) => out.text(text))) === null) return;
      if (!(yield* calls(input, out, anyName))) out.text(TAG);
    }
  },

  syntax(tools) {
    const begins = tools.map(({ name }) => `{"name": ${JSON.stringify(name)}`);
    const calls = tools.map(({ argumentsRule }, index) => {
      return `${literal(`${begins[index]}, "parameters": `)} ${argumentsRule()} "}"`;
    });
    const open = `(${literal(TAG)})?`;
    return { calls, open, between: '"; "', close: "", several: true, triggers: [TAG, ...begins] };
  },
};

/** @returns false when nothing was taken */
function* calls(input: Input, out: Output, accepts: (name: string) => boolean): Reading<boolean> {
  let any = false;
  const more = () =>
    input.attempt(function* () {
      yield* input.space();
      if (any && ((yield* input.accepts(";")) || (yield* input.accepts(",")))) yield* input.space();
      if (!any && (yield* input.accepts("["))) yield* input.space();
      const call = yield* jsonCall(input, out, accepts);
      if (call === "broken") yield* input.until([], (text) => out.arguments(text));
      return call !== "none";
    });
  while (yield* more()) any = true;
  if (any) yield* input.attempt(() => input.accepts("]"));
  return any;
}
