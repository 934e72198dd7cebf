import { literal } from "../../../grammar/gbnf/literal.ts";
import type { CallableTool, CallSyntax, ToolFormat } from "../syntax/format.ts";
import type { Input, Reading } from "../syntax/input.ts";
import { type CallMembers, jsonCall } from "../syntax/json-call.ts";
import { jsonList } from "../syntax/json-list.ts";
import type { Output } from "../syntax/output.ts";
import { anyName } from "../syntax/tool-names.ts";

interface Form {
  open: string;
  /** Before the list, behind white space: the beginning of a fence. */
  fence?: string;
  close: string;
  /** Between the marks: a JSON list, calls on lines, or one call. */
  calls: "list" | "lines" | "one";
  members: CallMembers;
  /** The member of the arguments. */
  args: string;
  marks: readonly string[];
  /** A text of templates of the family. */
  sign: string;
}

const PLAIN = { close: "", calls: "list" as const, members: { name: "name", id: "id" }, args: "arguments", marks: [] };
const GIGACHAT = { ...PLAIN, calls: "one" as const, marks: ["<|message_sep|>", "<|role_sep|>", "<|function_call|>"] };

/** Nemotron Nano 2: `<TOOLCALL>[{"name": "f", "arguments": {…}}]</TOOLCALL>`. */
export const nemotron = marked("nemotron", { ...PLAIN, open: "<TOOLCALL>", close: "</TOOLCALL>", sign: "<TOOLCALL>" });

/** Apriel: `<tool_calls>[{"name": "f", "arguments": {…}}]</tool_calls>`. */
export const apriel = marked("apriel", {
  ...PLAIN,
  open: "<tool_calls>",
  close: "</tool_calls>",
  sign: "<tool_calls>[",
});

/** MiniMax M1: `<tool_calls>`, `{"name": "f", "arguments": {…}}` on a line for each call, `</tool_calls>`. */
export const minimaxM1 = marked("minimax-m1", {
  ...PLAIN,
  calls: "lines",
  open: "<tool_calls>",
  close: "</tool_calls>",
  sign: "<tool_calls></tool_calls>",
});

/** FireFunction 2: `functools[{"name": "f", "arguments": {…}}]`. */
export const firefunction = marked("firefunction", { ...PLAIN, open: "functools", sign: "functools[" });

/** Command R and R+: `Action:` and a fence with `[{"tool_name": "f", "parameters": {…}}]`. */
export const commandR = marked("command-r", {
  ...PLAIN,
  open: "Action:",
  fence: "```json",
  close: "```",
  members: { name: "tool_name", id: "tool_call_id" },
  args: "parameters",
  sign: "\\nAction:\\n```json",
});

/** GigaChat 3: a message of the role `function call`, `{"name": "f", "arguments": {…}}`. */
export const gigachat = marked("gigachat3", {
  ...GIGACHAT,
  open: "<|message_sep|>\n\nfunction call<|role_sep|>\n",
  sign: "'function call'",
});

/** GigaChat 3.1: `<|function_call|>{"name": "f", "arguments": {…}}`. */
export const gigachat31 = marked("gigachat3.1", { ...GIGACHAT, open: "<|function_call|>", sign: "<|function_call|>" });

function marked(name: string, form: Form): ToolFormat {
  return {
    name,
    marks: form.marks,
    fits: (template) => template.includes(form.sign),

    *read(input, out) {
      for (;;) {
        if ((yield* input.until([form.open], (text) => out.text(text))) === null) return;
        if (!(yield* input.attempt(() => read(input, out, form)))) out.text(form.open);
      }
    },

    syntax: (tools) => syntax(tools, form),
  };
}

function* read(input: Input, out: Output, { fence = "", close, calls, members }: Form): Reading<boolean> {
  yield* input.space();
  if (!(yield* input.accepts(fence))) return false;
  if (calls === "list") {
    if (!(yield* jsonList(input, out, members))) return false;
  } else {
    let any = false;
    do {
      yield* input.space();
      const call = yield* jsonCall(input, out, anyName, members);
      if (call === "broken") yield* input.until([], (text) => out.arguments(text));
      if (call === "none" && !any) return false;
      any = call === "whole";
    } while (any && calls === "lines");
  }
  yield* input.attempt(function* () {
    yield* input.space();
    return yield* input.accepts(close);
  });
  return true;
}

function syntax(tools: readonly CallableTool[], { open, fence, close, calls, members, args }: Form): CallSyntax {
  const written = tools.map(({ name, argumentsRule }) => {
    return `${literal(`{"${members.name}": ${JSON.stringify(name)}, "${args}": `)} ${argumentsRule()} "}"`;
  });
  const inLines = fence !== undefined || calls === "lines";
  const begin = `${literal(open)} ${inLines ? "[\\n]?" : ""} ${literal(fence ?? "")} ${fence === undefined ? "" : "[\\n]?"}`;
  const end = `${inLines ? "[\\n]?" : ""} ${literal(close)}`;
  const [before, after] = calls === "list" ? ['"["', '"]"'] : ["", ""];
  return {
    calls: written,
    open: `${begin} ${before}`,
    between: calls === "list" ? '"," " "?' : "[\\n]",
    close: `${after} ${end}`,
    several: calls !== "one",
    triggers: [open],
  };
}
