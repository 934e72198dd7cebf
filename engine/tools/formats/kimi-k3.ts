import type { GrammarBuilder } from "../../../grammar/conversion/builder.ts";
import { literal, oneOf } from "../../../grammar/gbnf/literal.ts";
import { ArgumentMembers } from "../syntax/argument-members.ts";
import type { CallableTool, ToolFormat } from "../syntax/format.ts";
import type { Input, Reading } from "../syntax/input.ts";
import { argumentsUntil } from "../syntax/json-call.ts";
import type { Output } from "../syntax/output.ts";
import { taggedValue } from "../syntax/tagged-arguments.ts";
import { type TaggedValue, taggedRule } from "../syntax/tagged-grammar.ts";
import { textWithout } from "../syntax/text-grammar.ts";
import { anyName } from "../syntax/tool-names.ts";

const [OPEN, CLOSE, SEP] = ["<|open|>", "<|close|>", "<|sep|>"];
const opened = (tag: string) => `${OPEN}${tag}${SEP}`;
const closed = (tag: string) => `${CLOSE}${tag}${SEP}`;
const CALL = `${OPEN}call tool="`;
const ARGUMENT = `${OPEN}argument key="`;
const JSON_BLOCK = `${OPEN}json`;
/** Marks of the parts of an answer, which are no text. */
const FRAME = ["response", "tools"].flatMap((tag) => [opened(tag), closed(tag)]).concat(closed("message"));
const JSON_TYPE = '("number" | "boolean" | "null" | "object" | "array")';
const TEXT: Record<string, unknown> = { type: "string" };

/**
 * Kimi K3: sections `<|open|>response<|sep|>…<|close|>response<|sep|>` and `tools`, with calls
 * `<|open|>call tool="f" index="1"<|sep|><|open|>argument key="a" type="number"<|sep|>1<|close|>argument<|sep|>…`.
 * The prompt ends within the reasoning, or within the response.
 */
export const kimiK3: ToolFormat = {
  name: "kimi-k3",
  marks: [OPEN, CLOSE, SEP],
  reasoningTags: { open: opened("think"), close: closed("think") },
  endsThought: [opened("response"), opened("tools")],
  always: true,
  answer: `(${literal(opened("response"))})?`,
  fits: (template) => template.includes(OPEN) && template.includes("'argument'"),

  *read(input, out) {
    for (;;) {
      const mark = yield* input.until([...FRAME, CALL], (text) => out.text(text));
      if (mark === null) return;
      if (mark === CALL && !(yield* input.attempt(() => call(input, out)))) out.text(mark);
    }
  },

  syntax(tools, grammar) {
    const text = textWithout(grammar, closed("argument"));
    return {
      calls: tools.map((tool) => callRule(tool, grammar, text)),
      open: literal(opened("tools")),
      between: "",
      close: `${literal(closed("tools"))} (${literal(closed("message"))})?`,
      several: true,
      triggers: [opened("tools")],
      before: `(${literal(opened("response"))})? (${literal(closed("response"))})?`,
    };
  },
};

function callRule(tool: CallableTool, grammar: GrammarBuilder, text: string): string {
  const end = literal(closed("argument"));
  const one = (key: string, { text: plain, json }: TaggedValue) => {
    const begin = literal(`${ARGUMENT}${attribute(key)}" type="`);
    const forms = [plain === null ? [] : `${literal(`string"${SEP}`)} ${plain}`];
    forms.push(json === null ? [] : `${JSON_TYPE} ${literal(`"${SEP}`)} ${json}`);
    return `${begin} ${oneOf(forms.flat())} ${end}`;
  };
  const begin = `${literal(`${CALL}${attribute(tool.name)}" index="`)} [0-9]+ ${literal(`"${SEP}`)}`;
  return `${begin} ${taggedRule(tool, grammar, text, one)} ${literal(closed("call"))}`;
}

function attribute(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll('"', "&quot;");
}

function unescaped(text: string): string {
  return text.replaceAll("&quot;", '"').replaceAll("&amp;", "&");
}

function* call(input: Input, out: Output): Reading<boolean> {
  const name = unescaped(yield* input.word(/[^"<\n]/));
  if (!anyName(name) || !(yield* input.accepts('"'))) return false;
  input.commit();
  out.call(name);
  yield* input.until([SEP], () => {});
  const pass = (text: string) => out.arguments(text);
  const members = new ArgumentMembers(pass);
  for (;;) {
    const mark = yield* input.until([ARGUMENT, JSON_BLOCK, closed("call")], () => {});
    if (mark === closed("call")) members.end();
    if (mark === JSON_BLOCK) {
      yield* input.until([SEP], () => {});
      yield* argumentsUntil(input, out, [closed("call")]);
    }
    if (mark !== ARGUMENT) return true;
    const head = yield* input.textUntil([SEP]);
    if (head === null) return true;
    const [key = "", kind = ""] = head.split('" type="');
    members.key(unescaped(key));
    const schema = kind.startsWith("string") ? TEXT : {};
    if (!(yield* taggedValue(input, [closed("argument")], schema, pass))) return true;
  }
}
