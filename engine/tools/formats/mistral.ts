import { literal } from "../../../grammar/gbnf/literal.ts";
import type { ToolFormat } from "../syntax/format.ts";
import type { Input, Reading } from "../syntax/input.ts";
import { callArguments } from "../syntax/json-call.ts";
import { jsonList } from "../syntax/json-list.ts";
import type { Output } from "../syntax/output.ts";

const CALLS = "[TOOL_CALLS]";
const ARGS = "[ARGS]";
const CALL_ID = "[CALL_ID]";

/** The id of a call after its arguments, which some models were trained to write. */
const LISTED_ID = `(${literal(', "id": "')} [a-zA-Z0-9]{9} ${literal('"')})?`;

/**
 * Mistral: `[TOOL_CALLS] [{"name": "f", "arguments": {…}}, …]`; newer models `[TOOL_CALLS]f[ARGS]{…}` for each call, some
 * with `[CALL_ID]…` after the name.
 */
export const mistral: ToolFormat = {
  name: "mistral",
  marks: [CALLS, ARGS, CALL_ID],
  fits: (template) => template.includes(CALLS) && !template.includes(ARGS),
  read,

  syntax(tools) {
    const calls = tools.map(({ name, argumentsRule }) => {
      return `${literal(`{"name": ${JSON.stringify(name)}, "arguments": `)} ${argumentsRule()} ${LISTED_ID} "}"`;
    });
    const open = `${literal(CALLS)} " "? "["`;
    return { calls, open, between: '", "', close: '"]"', several: true, triggers: [CALLS] };
  },
};

export const mistralArgs: ToolFormat = {
  name: "mistral-args",
  marks: mistral.marks,
  fits: (template) => template.includes(CALLS) && template.includes(ARGS),
  read,

  syntax(tools) {
    const calls = tools.map(({ name, argumentsRule }) => {
      return `${literal(CALLS + name)} (${literal(CALL_ID)} [a-zA-Z0-9]+)? ${literal(ARGS)} ${argumentsRule()}`;
    });
    return { calls, open: "", between: "", close: "", several: true, triggers: [CALLS] };
  },
};

function* read(input: Input, out: Output): Reading {
  for (;;) {
    if ((yield* input.until([CALLS], (text) => out.text(text))) === null) return;
    const list = yield* input.attempt(() => jsonList(input, out));
    if (!list && !(yield* input.attempt(() => named(input, out)))) out.text(CALLS);
  }
}

function* named(input: Input, out: Output): Reading<boolean> {
  yield* input.space();
  const name = yield* input.word(/[\w.-]/);
  const id = (yield* input.accepts(CALL_ID)) ? yield* input.word(/\w/) : null;
  if (name === "" || !(yield* input.accepts(ARGS))) return false;
  input.commit();
  out.call(name, id);
  yield* input.space();
  if (!(yield* callArguments(input, (text) => out.arguments(text)))) {
    yield* input.until([], (text) => out.arguments(text));
  }
  return true;
}
