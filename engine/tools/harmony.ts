import { literal } from "../../grammar/literal.ts";
import type { ToolFormat } from "./format.ts";
import type { Input, Reading } from "./input.ts";
import type { Output } from "./output.ts";

const START = "<|start|>";
const CHANNEL = "<|channel|>";
const MESSAGE = "<|message|>";
const CONSTRAIN = "<|constrain|>";
const CALL = "<|call|>";
const ENDS = ["<|end|>", "<|return|>", CALL];
const FUNCTIONS = "functions.";

/**
 * gpt-oss: an answer is a row of messages, `<|channel|>NAME<|message|>…<|end|>`, divided by `<|start|>assistant`.
 *
 * | header | its text |
 * |---|---|
 * | `analysis` | a thought |
 * | any channel, `to=functions.f` | the arguments of a call of f |
 * | `commentary` to nobody, `final` | text: what is said about calls to come is for the user too |
 *
 * The prompt ends with `<|start|>assistant`. An answer that begins otherwise, since a grammar made it do so, is text.
 */
export const harmony: ToolFormat = {
  name: "harmony",
  marks: [START, CHANNEL, MESSAGE, CONSTRAIN, ...ENDS],
  always: true,
  fits: (template) => template.includes(CHANNEL) && template.includes(MESSAGE),

  *read(input, out) {
    let started = false;
    while ((yield* input.peek()) !== "") {
      started ||= yield* input.accepts(START);
      const header: string = started || (yield* beginsHeader(input)) ? yield* readHeader(input) : "";
      started = (yield* body(input, out, header)) === START;
      out.thinking = false;
    }
  },

  syntax(tools) {
    const calls = tools.map(({ name, argumentsRule }) => {
      const begin = `${literal(` to=${FUNCTIONS}${name}`)} (${literal(`${CHANNEL}commentary`)})?`;
      const kind = `(" "? (${literal(CONSTRAIN)})? "json")?`;
      return `${begin} ${kind} ${literal(MESSAGE)} ${argumentsRule()}`;
    });
    const thought = `${literal(`${CHANNEL}analysis${MESSAGE}`)} [^<]* ${literal(`<|end|>${START}assistant`)}`;
    return {
      calls,
      open: "",
      between: "",
      close: `(${literal(CALL)})?`,
      several: false,
      triggers: [` to=${FUNCTIONS}`],
      before: `(${thought})? (${literal(`${CHANNEL}commentary`)})?`,
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

/** @returns the mark that ended it */
function* body(input: Input, out: Output, header: string): Reading<string | null> {
  const channel = new RegExp(`${CHANNEL.replaceAll("|", "\\|")}\\s*(\\w+)`).exec(header)?.[1] ?? "final";
  const recipient = /to=([^\s<]+)/.exec(header)?.[1] ?? null;
  const ends = [...ENDS, START];
  if (recipient?.startsWith(FUNCTIONS)) {
    out.call(recipient.slice(FUNCTIONS.length));
    yield* input.space();
    return yield* input.until(ends, (text) => out.arguments(text));
  }
  if (channel === "analysis") {
    out.thinking = true;
    return yield* input.until(ends, (text) => out.thought(text));
  }
  return yield* input.until(ends, (text) => out.text(text));
}
