import { literal } from "../../../grammar/gbnf/literal.ts";
import type { ToolFormat } from "../syntax/format.ts";
import type { Input, Reading } from "../syntax/input.ts";
import { jsonString } from "../syntax/json.ts";
import { callArguments } from "../syntax/json-call.ts";
import type { Output } from "../syntax/output.ts";
import { anyName } from "../syntax/tool-names.ts";

const OPEN = "<|tools_prefix|>";
const CLOSE = "<|tools_suffix|>";

/** Apertus: `<|tools_prefix|>[{"f": {…}}, …]<|tools_suffix|>`, the arguments under the name of the function. */
export const apertus: ToolFormat = {
  name: "apertus",
  marks: [OPEN, CLOSE],
  endsThought: [OPEN],
  fits: (template) => template.includes(OPEN),

  *read(input, out) {
    for (;;) {
      if ((yield* input.until([OPEN], (text) => out.text(text))) === null) return;
      if (!(yield* input.attempt(() => list(input, out)))) out.text(OPEN);
    }
  },

  syntax(tools) {
    const calls = tools.map(({ name, argumentsRule }) => {
      return `${literal(`{${JSON.stringify(name)}: `)} ${argumentsRule()} "}"`;
    });
    const [open, close] = [literal(`${OPEN}[`), literal(`]${CLOSE}`)];
    return { calls, open, between: '", "', close, several: true, triggers: [OPEN] };
  },
};

function* list(input: Input, out: Output): Reading<boolean> {
  yield* input.space();
  if (!(yield* input.accepts("["))) return false;
  for (let any = false; ; any = true) {
    yield* input.space();
    const begun = (yield* input.accepts("{")) && (yield* named(input));
    if (begun === false || !anyName(begun)) return any;
    input.commit();
    out.call(begun);
    if (!(yield* callArguments(input, (text) => out.arguments(text)))) {
      yield* input.until([CLOSE], (text) => out.arguments(text));
      return true;
    }
    yield* input.space();
    yield* input.accepts("}");
    yield* input.space();
    if (!(yield* input.accepts(","))) break;
  }
  yield* input.accepts("]");
  yield* input.attempt(function* () {
    yield* input.space();
    return yield* input.accepts(CLOSE);
  });
  return true;
}

/** The name of a call; false where none is. */
function* named(input: Input): Reading<string | false> {
  yield* input.space();
  const name = yield* jsonString(input);
  yield* input.space();
  if (name === null || !(yield* input.accepts(":"))) return false;
  yield* input.space();
  return name;
}
