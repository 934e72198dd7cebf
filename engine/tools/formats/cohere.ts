import { literal, oneOf } from "../../../grammar/gbnf/literal.ts";
import type { ToolFormat } from "../syntax/format.ts";
import { jsonList } from "../syntax/json-list.ts";

const ACTION = "<|START_ACTION|>";
const ACTION_END = "<|END_ACTION|>";
const TEXTS = ["<|START_RESPONSE|>", "<|START_TEXT|>"];
const TEXT_ENDS = ["<|END_RESPONSE|>", "<|END_TEXT|>"];

/** The call begins with its name: nothing but arguments follows. */
const MEMBERS = { name: "tool_name", id: "tool_call_id", early: true };

/**
 * Command R7B and later: text between marks, or `<|START_ACTION|>[{"tool_call_id": "0", "tool_name": "f", "parameters": {…}}]
 * <|END_ACTION|>`. The marks around text differ by model, and are dropped.
 */
export const cohere: ToolFormat = {
  name: "cohere",
  marks: [ACTION, ACTION_END, ...TEXTS, ...TEXT_ENDS],
  endsThought: [ACTION, ...TEXTS],
  always: true,
  answer: `(${oneOf(TEXTS.map(literal))})?`,
  fits: (template) => template.includes(ACTION),

  *read(input, out) {
    for (;;) {
      const mark = yield* input.until([ACTION, ...TEXTS, ...TEXT_ENDS], (text) => out.text(text));
      if (mark === null) return;
      if (mark !== ACTION) continue;
      const called = yield* input.attempt(() => jsonList(input, out, MEMBERS));
      if (!called) out.text(mark);
      else {
        yield* input.attempt(function* () {
          yield* input.space();
          return yield* input.accepts(ACTION_END);
        });
      }
    }
  },

  syntax(tools) {
    const calls = tools.map(({ name, argumentsRule }) => {
      const begin = literal(`"tool_name": ${JSON.stringify(name)}, "parameters": `);
      return `"{\\"tool_call_id\\": \\"" [0-9]+ "\\", " ${begin} ${argumentsRule()} "}"`;
    });
    const [open, close] = [`${literal(`${ACTION}[`)} [\\n ]*`, `[\\n]? ${literal(`]${ACTION_END}`)}`];
    return { calls, open, between: '"," [\\n ]*', close, several: true, triggers: [ACTION] };
  },
};
