import type { CppToken } from "./cpp-tokens.ts";

/** The value of an expression: a literal, a list in braces, a message; null for what is not evaluated. */
export type CppValue = string | boolean | null | CppValue[] | CppMessage;

export interface CppMessage {
  role: string;
  content: string;
  reasoning: string;
  calls: { name: string; arguments: string; id: string }[];
  callId: string;
}

/** A method and its arguments in `object.a(x).b(y)`. */
export interface CppMethod {
  name: string;
  values: CppValue[];
}

/** Functions of the test file that make messages, by the order of their arguments. */
const MESSAGE_MAKERS: Record<string, readonly string[]> = {
  simple_assist_msg: ["content", "reasoning", "name", "arguments", "id"],
  message_with_tool_calls: ["name", "arguments"],
  message_with_tool_calls_and_reasoning: ["name", "arguments", "reasoning"],
  message_with_reasoning_content_and_multiple_tool_calls: ["reasoning", "content", "calls"],
  message_with_content_and_tool_call: ["content", "name", "arguments"],
  message_with_reasoning_and_tool_call: ["reasoning", "name", "arguments"],
};

/** Evaluates the expressions of a test file: literals, names, sums of strings, lists, and calls of message makers. */
export class CppExpressions {
  readonly tokens: readonly CppToken[];
  at = 0;
  /** Values of variables. */
  readonly names: Map<string, CppValue>;

  constructor(tokens: readonly CppToken[], names: Map<string, CppValue>) {
    this.tokens = tokens;
    this.names = names;
  }

  /** The text of a token from here on; "" for a string, and at the end. */
  peek(offset = 0): string {
    const token = this.tokens[this.at + offset];
    return token === undefined || token.kind === "string" ? "" : token.text;
  }

  /** Takes these tokens if they are next. */
  takes(...texts: string[]): boolean {
    if (!texts.every((text, index) => this.peek(index) === text)) return false;
    this.at += texts.length;
    return true;
  }

  value(): CppValue {
    let sum = this.#term();
    while (this.takes("+")) {
      const next = this.#term();
      sum = typeof sum === "string" && typeof next === "string" ? sum + next : null;
    }
    return sum;
  }

  /** Values up to the closing sign, which is taken. */
  values(close: string): CppValue[] {
    const values: CppValue[] = [];
    while (this.at < this.tokens.length && !this.takes(close)) {
      values.push(this.value());
      this.takes(",");
    }
    return values;
  }

  /** The methods that follow. */
  methods(): CppMethod[] {
    const methods: CppMethod[] = [];
    while (this.peek() === "." && this.peek(2) === "(") {
      const name = this.peek(1);
      this.at += 3;
      methods.push({ name, values: this.values(")") });
    }
    return methods;
  }

  #term(): CppValue {
    const token = this.tokens[this.at++];
    if (token === undefined) return null;
    if (token.kind === "string") return token.text;
    if (token.text === "{") return this.values("}");
    if (token.kind !== "name") return null;
    if (token.text === "true" || token.text === "false") return token.text === "true";
    let name = token.text;
    while (this.takes("::")) name = this.tokens[this.at++]?.text ?? name;
    if (this.peek() !== "(" && this.peek() !== "{") return this.names.get(name) ?? name;
    const close = this.takes("(") ? ")" : this.takes("{") ? "}" : "";
    return made(name, this.values(close));
  }
}

function made(name: string, values: readonly CppValue[]): CppValue {
  const order = MESSAGE_MAKERS[name];
  if (order === undefined) return null;
  const fields = Object.fromEntries(order.map((field, index) => [field, values[index] ?? ""]));
  const one = fields.name ? [[fields.name, fields.arguments ?? "", fields.id ?? ""]] : [];
  return {
    ...emptyMessage("assistant"),
    content: textOf(fields.content ?? ""),
    reasoning: textOf(fields.reasoning ?? ""),
    calls: callsOf(Array.isArray(fields.calls) ? fields.calls : one),
  };
}

export function emptyMessage(role: string): CppMessage {
  return { role, content: "", reasoning: "", calls: [], callId: "" };
}

/** A message from its name or from the list of its members. */
export function messageOf(value: CppValue): CppMessage | null {
  if (!Array.isArray(value)) return typeof value === "object" ? value : null;
  const [role = "", content = "", parts = [], calls = [], reasoning = "", , callId = ""] = value;
  const texts = Array.isArray(parts) ? parts.map((part) => (Array.isArray(part) ? textOf(part[1] ?? "") : "")) : [];
  return {
    role: textOf(role),
    content: textOf(content) || texts.join(""),
    reasoning: textOf(reasoning),
    calls: callsOf(Array.isArray(calls) ? calls : []),
    callId: textOf(callId),
  };
}

export function callsOf(list: readonly CppValue[]): CppMessage["calls"] {
  return list.flatMap((call) => {
    const [name = "", args = "", id = ""] = Array.isArray(call) ? call : [];
    return textOf(name) === "" ? [] : [{ name: textOf(name), arguments: textOf(args), id: textOf(id) }];
  });
}

export function textOf(value: CppValue): string {
  return typeof value === "string" ? value : "";
}
