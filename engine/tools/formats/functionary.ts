import { literal } from "../../../grammar/gbnf/literal.ts";
import type { ToolFormat } from "../syntax/format.ts";
import type { Input, Reading } from "../syntax/input.ts";
import { argumentsUntil } from "../syntax/json-call.ts";
import type { Output } from "../syntax/output.ts";
import { nameCheck } from "../syntax/tool-names.ts";

const FUNCTION = "<function=";
const FUNCTION_END = "</function>";
const TURN = ">>>";
const ALL = "all";
const IN_NAME = /[\w.-]/;

/** Functionary 3.1, and Llama models with such a prompt: `<function=f>{…}</function>`. */
export const functionary: ToolFormat = {
  name: "functionary",
  marks: [],
  fits: (template) => template.includes(FUNCTION) && !template.includes("<parameter="),

  *read(input, out) {
    for (;;) {
      if ((yield* input.until([FUNCTION], (text) => out.text(text))) === null) return;
      const called = yield* input.attempt(function* () {
        const name = yield* input.word(IN_NAME);
        if (name === "" || !(yield* input.accepts(">"))) return false;
        input.commit();
        out.call(name);
        yield* argumentsUntil(input, out, [FUNCTION_END]);
        return true;
      });
      if (!called) out.text(FUNCTION);
    }
  },

  syntax(tools) {
    const calls = tools.map(({ name, argumentsRule }) => {
      return `${literal(`${FUNCTION}${name}>`)} ${argumentsRule()} ${literal(FUNCTION_END)}`;
    });
    return { calls, open: "", between: "[\\n]?", close: "", several: true, triggers: [FUNCTION] };
  },
};

/**
 * Functionary 3.2: every part of an answer begins with its recipient (`all` for text, or the name of a tool) and a line
 * break; `>>>` separates the parts. The prompt ends with the first `>>>`.
 */
export const functionaryRecipients: ToolFormat = {
  name: "functionary-v3.2",
  marks: [],
  always: true,
  answer: literal(`${ALL}\n`),
  fits: (template) => template.includes(`${TURN}${ALL}`),

  *read(input, out, tools) {
    const offered = nameCheck(tools);
    for (;;) {
      const called = yield* input.attempt(() => part(input, out, offered));
      if (!called && (yield* input.until([TURN], (text) => out.text(text))) === null) return;
    }
  },

  syntax(tools) {
    const calls = tools.map(({ name, argumentsRule }) => `${literal(`${name}\n`)} ${argumentsRule()}`);
    const triggers = tools.map(({ name }) => `${name}\n`);
    return { calls, open: "", between: `[\\n]? ${literal(TURN)}`, close: "", several: true, triggers };
  },
};

/** @returns false if the next part is text without a recipient */
function* part(input: Input, out: Output, offered: (name: string) => boolean): Reading<boolean> {
  const name = yield* input.word(IN_NAME);
  if (name !== ALL && !offered(name)) return false;
  if (!(yield* input.accepts("\n"))) return false;
  input.commit();
  if (name === ALL) {
    yield* input.until([TURN], (text) => out.text(text));
    return true;
  }
  out.call(name);
  yield* argumentsUntil(input, out, [TURN]);
  return true;
}
