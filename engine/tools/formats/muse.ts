import { literal } from "../../../grammar/gbnf/literal.ts";
import type { FunctionTool } from "../../protocol/prompt.ts";
import type { ToolFormat } from "../syntax/format.ts";
import type { Input, Reading } from "../syntax/input.ts";
import type { Output } from "../syntax/output.ts";
import { textWithout } from "../syntax/text-grammar.ts";
import { invocation, invocationRule } from "./invoke.ts";

const START = "<|start|>";
const MESSAGE = "<|message|>";
const [MORE, END] = ["<|eom|>", "<|eot|>"];
const OPEN = "<atem:function_calls>";
const CLOSE = "</atem:function_calls>";
const TAGS = { prefix: "atem:", typed: false };
const SELF = "self";
const USER = "user";

/** GBNF of reasoning before the constrained part, which has no "<|". */
const THOUGHT = `${literal(` to=${SELF}${MESSAGE}`)} ([^<] | "<"+ [^<|])* "<"* ${literal(`${MORE}${START}assistant`)}`;

/**
 * Muse Glimmer: an answer is a sequence of messages ` to=RECIPIENT<|message|>…<|eom|>`, separated by `<|start|>assistant`. To
 * `self` it is reasoning, to `user` text, and to a tool a call, `<atem:function_calls><atem:invoke name="f">…`. The prompt
 * ends with `<|start|>assistant`.
 */
export const muse: ToolFormat = {
  name: "muse",
  marks: [START, MESSAGE, MORE, END],
  always: true,
  answer: `(${THOUGHT})? ${literal(` to=${USER}${MESSAGE}`)}`,
  fits: (template) => template.includes(OPEN),

  *read(input, out, tools) {
    let started = false;
    while ((yield* input.peek()) !== "") {
      started ||= yield* input.accepts(START);
      const hasHeader = started || (yield* input.sees(" to="));
      const header: string = hasHeader ? ((yield* input.textUntil([MESSAGE])) ?? "") : "";
      started = (yield* message(input, out, tools, /\bto=([^\s<]+)/.exec(header)?.[1] ?? USER)) === START;
      out.thinking = false;
    }
  },

  syntax(tools, grammar) {
    const text = textWithout(grammar, `</${TAGS.prefix}parameter>`);
    const calls = tools.map((tool) => {
      const begin = literal(` to=${tool.name}${MESSAGE}${OPEN}\n`);
      return `${begin} ${invocationRule(tool, grammar, text, TAGS)} ${literal(`\n${CLOSE}`)}`;
    });
    return {
      calls,
      open: "",
      between: literal(`${MORE}${START}assistant`),
      close: `(${literal(MORE)} | ${literal(END)})?`,
      several: true,
      triggers: tools.map(({ name }) => ` to=${name}${MESSAGE}`),
      before: `(${THOUGHT})?`,
    };
  },
};

/** @returns the mark at its end; null at the end of the answer */
function* message(
  input: Input,
  out: Output,
  tools: readonly FunctionTool[],
  recipient: string,
): Reading<string | null> {
  const ends = [MORE, END, START];
  if (recipient === USER) return yield* input.until(ends, (text) => out.text(text));
  const called = recipient !== SELF && (yield* input.attempt(() => calls(input, out, tools)));
  // A message to another recipient is no text for the user.
  out.thinking = !called;
  return yield* input.until(ends, (text) => called || out.thought(text));
}

function* calls(input: Input, out: Output, tools: readonly FunctionTool[]): Reading<boolean> {
  yield* input.space();
  if (!(yield* input.accepts(OPEN))) return false;
  let any = false;
  while (yield* input.attempt(() => invocation(input, out, tools, TAGS))) any = true;
  return any;
}
