import { literal } from "../../../grammar/gbnf/literal.ts";
import type { ToolFormat } from "../syntax/format.ts";
import type { Input, Reading } from "../syntax/input.ts";
import { argumentsUntil } from "../syntax/json-call.ts";
import type { Output } from "../syntax/output.ts";
import { nameCheck } from "../syntax/tool-names.ts";

const START = "<|start|>";
const CHANNEL = "<|channel|>";
const MESSAGE = "<|message|>";
const CONSTRAIN = "<|constrain|>";
const CALL = "<|call|>";
const ENDS = ["<|end|>", "<|return|>", CALL];
const FUNCTIONS = "functions.";
const CHANNELS = /<\|channel\|>\s*(\w+)/g;
const RECIPIENTS = /\bto=([^\s<]+)/g;

/** GBNF of reasoning before the constrained part, which has no "<|", and of the content type that a header may have. */
const THOUGHT = `${literal(`${CHANNEL}analysis${MESSAGE}`)} ([^<] | "<"+ [^<|])* "<"* ${literal(`<|end|>${START}assistant`)}`;
/** The channel of a call: the model was trained on the first, and writes the second at times. */
const CALL_CHANNEL = `${literal(CHANNEL)} ("commentary" | "analysis")`;
const KIND = `(" json" | " "? ${literal(`${CONSTRAIN}json`)})?`;

/**
 * gpt-oss: an answer is a sequence of messages, `<|channel|>NAME<|message|>…<|end|>`, separated by `<|start|>assistant`.
 *
 * | header | text of the message |
 * |---|---|
 * | `analysis` | reasoning |
 * | any channel, `to=functions.f`, or to an offered tool without that prefix | the arguments of a call of f |
 * | any channel to another recipient, such as `python` | reasoning: OpenAI runs these tools itself, and users do not see the calls |
 * | `commentary` without recipient, `final` | text: a preamble to calls is for the user too |
 *
 * Of two channels in one header the later one counts: the model begins with one at times and then writes another.
 *
 * The prompt ends with `<|start|>assistant`. An answer without a header, to which a grammar forced the model, is text.
 */
export const harmony: ToolFormat = {
  name: "harmony",
  marks: [START, CHANNEL, MESSAGE, CONSTRAIN, ...ENDS],
  always: true,
  answer: `(${THOUGHT})? ${literal(`${CHANNEL}final`)} ${KIND} ${literal(MESSAGE)}`,
  fits: (template) => template.includes(CHANNEL) && template.includes(MESSAGE),

  *read(input, out, tools) {
    const offered = nameCheck(tools);
    let started = false;
    while ((yield* input.peek()) !== "") {
      started ||= yield* input.accepts(START);
      const header: string = started || (yield* beginsHeader(input)) ? yield* readHeader(input) : "";
      started = (yield* body(input, out, header, offered)) === START;
      out.thinking = false;
    }
  },

  syntax(tools) {
    const calls = tools.map(({ name, argumentsRule }) => {
      const begin = `${literal(` to=${FUNCTIONS}${name}`)} (${CALL_CHANNEL})?`;
      return `${begin} ${KIND} ${literal(MESSAGE)} ${argumentsRule()}`;
    });
    return {
      calls,
      open: "",
      between: "",
      close: `(${literal(CALL)})?`,
      several: false,
      triggers: [` to=${FUNCTIONS}`],
      before: `(${THOUGHT})? (${CALL_CHANNEL})?`,
    };
  },
};

function* beginsHeader(input: Input): Reading<boolean> {
  return (yield* input.sees(CHANNEL)) || (yield* input.sees(" to="));
}

function* readHeader(input: Input): Reading<string> {
  let header = "";
  yield* input.until([MESSAGE], (text) => {
    header += text;
  });
  return header;
}

/** @returns the mark at its end; null at the end of the answer */
function* body(input: Input, out: Output, header: string, offered: (name: string) => boolean): Reading<string | null> {
  const channel = [...header.matchAll(CHANNELS)].at(-1)?.[1] ?? "final";
  const recipient = [...header.matchAll(RECIPIENTS)].map(([, name]) => name!).findLast((name) => name !== "assistant");
  const ends = [...ENDS, START];
  const name = recipient?.startsWith(FUNCTIONS) ? recipient.slice(FUNCTIONS.length) : recipient;
  if (name !== undefined && name !== "" && (name !== recipient || offered(name))) {
    out.call(name);
    return yield* argumentsUntil(input, out, ends);
  }
  if (channel === "analysis" || recipient !== undefined) {
    out.thinking = true;
    return yield* input.until(ends, (text) => out.thought(text));
  }
  return yield* input.until(ends, (text) => out.text(text));
}
