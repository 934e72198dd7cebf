import { literal } from "../../../grammar/gbnf/literal.ts";
import type { ToolFormat } from "../syntax/format.ts";
import { jsonCall } from "../syntax/json-call.ts";
import { anyName } from "../syntax/tool-names.ts";

const OPEN = "<tool_call>";
const CLOSE = "</tool_call>";

/** Hermes, Qwen 2.5 and 3, and many others: `<tool_call>{"name": "f", "arguments": {…}}</tool_call>`, once per call. */
export const hermes: ToolFormat = {
  name: "hermes",
  marks: [OPEN, CLOSE],
  fits: (template) => template.includes(OPEN),

  *read(input, out) {
    for (;;) {
      if ((yield* input.until([OPEN], (text) => out.text(text))) === null) return;
      yield* input.attempt(function* () {
        yield* input.space();
        const call = yield* jsonCall(input, out, anyName);
        if (call === "none") {
          out.text(OPEN);
          return false;
        }
        if (call === "broken") yield* input.until([CLOSE], (text) => out.arguments(text));
        else {
          yield* input.space();
          yield* input.accepts(CLOSE);
        }
        return true;
      });
    }
  },

  syntax(tools) {
    const calls = tools.map(({ name, argumentsRule }) => {
      const begin = literal(`{"name": ${JSON.stringify(name)}, "arguments": `);
      return `${literal(OPEN)} [\\n]? ${begin} ${argumentsRule()} "}" [\\n]? ${literal(CLOSE)}`;
    });
    return { calls, open: "", between: "[\\n]?", close: "", several: true, triggers: [OPEN] };
  },
};
