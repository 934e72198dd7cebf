import {
  CppExpressions,
  type CppMessage,
  type CppMethod,
  type CppValue,
  callsOf,
  emptyMessage,
  messageOf,
  textOf,
} from "./cpp-expression.ts";
import { type CppToken, cppTokens } from "./cpp-tokens.ts";

/** One message of llama.cpp's tests/test-chat.cpp, with its template and the expected result. */
export interface ChatTest {
  /** Line of the test's text. */
  line: number;
  template: string;
  input: string;
  messages: CppMessage[];
  tools: { name: string; description: string; parameters: string }[];
  thinks: boolean;
  /** False: reasoning stays in the content, with its tags. */
  splitsReasoning: boolean;
  /** True when the answer follows a JSON schema. */
  structured: boolean;
  expected: Pick<CppMessage, "content" | "reasoning" | "calls">;
}

export interface ChatTests {
  tests: ChatTest[];
  /** Lines of messages that continue a message of the assistant, which no endpoint offers. */
  continued: number[];
}

/** The tokens of a function's body; `parameter` is its path of a template, null without one. */
interface Body {
  from: number;
  to: number;
  parameter: string | null;
}
type Bodies = ReadonlyMap<string, Body>;

const OPENING = new Set(["(", "{", "["]);
const CLOSING = new Set([")", "}", "]"]);
const FIELDS: Record<string, keyof CppMessage> = {
  role: "role",
  content: "content",
  reasoning_content: "reasoning",
  tool_call_id: "callId",
};

/** The messages of a test file: every `tester.test(text)….run()`, with the loops and functions around it. */
export function chatTests(source: string): ChatTests {
  return new ChatTestReader(cppTokens(source)).read();
}

class ChatTestReader {
  readonly #tests: ChatTest[] = [];
  readonly #continued: number[] = [];
  readonly #names = new Map<string, CppValue>();
  readonly #tokens: readonly CppToken[];
  readonly #expressions: CppExpressions;

  constructor(tokens: readonly CppToken[]) {
    this.#tokens = tokens;
    this.#expressions = new CppExpressions(tokens, this.#names);
  }

  read(): ChatTests {
    const bodies = this.#functions();
    const inner = new Map([...bodies].filter(([, { parameter }]) => parameter !== null));
    this.#statements(0, this.#tokens.length, inner, (at) => [...bodies.values()].some(({ from }) => from === at));
    for (const { from, to, parameter } of bodies.values()) {
      if (parameter === null) this.#statements(from, to, inner, () => false);
    }
    return { tests: this.#tests, continued: this.#continued };
  }

  /** The bodies of functions. */
  #functions(): Bodies {
    const bodies = new Map<string, Body>();
    this.#tokens.forEach((token, at) => {
      if (token.text !== "static" || this.#text(at + 1) !== "void" || this.#text(at + 3) !== "(") return;
      const close = this.#closeOf(at + 3);
      if (this.#text(close + 1) !== "{") return;
      const words = this.#tokens.slice(at + 4, close).map(({ text }) => text);
      const parameter = words.includes("template_path") ? "template_path" : null;
      bodies.set(this.#text(at + 2), { from: close + 1, to: this.#closeOf(close + 1), parameter });
    });
    return bodies;
  }

  /** Runs the statements in an interval of tokens, except for the blocks that begin at a token that is skipped. */
  #statements(from: number, to: number, functions: Bodies, isSkipped: (at: number) => boolean): void {
    const all = this.#expressions;
    let at = from;
    while (at < to) {
      const called = functions.get(this.#text(at));
      if (isSkipped(at)) at = this.#closeOf(at);
      else if (this.#text(at) === "for" && this.#text(at + 1) === "(") at = this.#loop(at, functions);
      else if (called !== undefined && this.#text(at + 1) === "(" && this.#text(at - 1) !== "void") {
        all.at = at + 2;
        this.#names.set(called.parameter!, all.values(")")[0] ?? null);
        const end = all.at;
        this.#statements(called.from, called.to, functions, isSkipped);
        at = end;
      } else at = this.#statement(at);
    }
  }

  /** `for (… name : list) block`. @returns the token after it */
  #loop(at: number, functions: Bodies): number {
    const close = this.#closeOf(at + 1);
    const colon = this.#tokens.findIndex(({ text, kind }, index) => kind === "sign" && index > at && text === ":");
    if (colon === -1 || colon > close) return close + 1;
    this.#expressions.at = colon + 1;
    const values = this.#expressions.value();
    const end = this.#closeOf(close + 1);
    for (const value of Array.isArray(values) ? values : []) {
      this.#names.set(this.#text(colon - 1), value);
      this.#statements(close + 2, end, functions, () => false);
    }
    return end + 1;
  }

  /** A definition, an assignment, or a test. @returns the token after it; the next one where it is none of these */
  #statement(at: number): number {
    const all = this.#expressions;
    const name = this.#text(at);
    const sign = this.#text(at + 1);
    all.at = at + 2;
    const isName = this.#tokens[at]!.kind === "name";
    if (isName && sign === "." && this.#text(at + 2) === "test" && this.#text(at + 3) === "(") {
      const { line } = this.#tokens[at + 4] ?? this.#tokens[at]!;
      all.at = at + 1;
      this.#add(textOf(this.#names.get(name) ?? null), line, all.methods());
    } else if (isName && sign === "." && this.#text(at + 3) === "=") {
      all.at = at + 4;
      const message = messageOf(this.#names.get(name) ?? null);
      const field = FIELDS[this.#text(at + 2)];
      if (message !== null && field !== undefined) this.#names.set(name, { ...message, [field]: textOf(all.value()) });
    } else if (isName && sign === "=") this.#names.set(name, this.#defined());
    else if (isName && sign === "{" && this.#tokens[at - 1]?.kind !== "sign") this.#names.set(name, all.values("}"));
    else if (isName && sign === "{" && this.#text(at - 1) === ">") this.#names.set(name, all.values("}"));
    else if (name === "common_chat_msg" && this.#text(at + 2) === ";") this.#names.set(sign, emptyMessage(""));
    else return at + 1;
    return Math.max(all.at, at + 1);
  }

  /** A value, or the path of a tester's template. */
  #defined(): CppValue {
    const all = this.#expressions;
    return all.takes("peg_tester", "(") ? (all.values(")")[0] ?? null) : all.value();
  }

  #add(template: string, line: number, methods: readonly CppMethod[]): void {
    if (methods.at(-1)?.name !== "run") return;
    const first = new Map(methods.map(({ name, values }) => [name, values[0] ?? null]));
    if (first.has("continue_final_message")) {
      this.#continued.push(line);
      return;
    }
    const list = (name: string) => {
      const value = first.get(name) ?? null;
      return Array.isArray(value) ? value : [];
    };
    const whole = messageOf(first.get("expect") ?? null) ?? emptyMessage("assistant");
    this.#tests.push({
      line,
      template,
      input: textOf(first.get("test") ?? null),
      messages: list("messages").flatMap((value) => messageOf(value) ?? []),
      tools: list("tools").flatMap((tool) => {
        const [name = "", description = "", parameters = ""] = Array.isArray(tool) ? tool : [];
        return [{ name: textOf(name), description: textOf(description), parameters: textOf(parameters) }];
      }),
      thinks: first.get("enable_thinking") !== false,
      splitsReasoning: !textOf(first.get("reasoning_format") ?? "NONE").endsWith("NONE"),
      structured: first.has("json_schema"),
      expected: {
        content: first.has("expect_content") ? textOf(first.get("expect_content")!) : whole.content,
        reasoning: first.has("expect_reasoning") ? textOf(first.get("expect_reasoning")!) : whole.reasoning,
        calls: first.has("expect_tool_calls") ? callsOf(list("expect_tool_calls")) : whole.calls,
      },
    });
  }

  #text(at: number): string {
    const token = this.#tokens[at];
    return token === undefined || token.kind === "string" ? "" : token.text;
  }

  /** The token that closes the bracket at `at`; the last one without it. */
  #closeOf(at: number): number {
    let depth = 0;
    for (let index = at; index < this.#tokens.length; index++) {
      const { kind, text } = this.#tokens[index]!;
      if (kind === "sign" && OPENING.has(text)) depth++;
      else if (kind === "sign" && CLOSING.has(text) && --depth === 0) return index;
    }
    return this.#tokens.length;
  }
}
