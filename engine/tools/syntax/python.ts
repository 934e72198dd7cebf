import type { Input, Reading } from "./input.ts";
import { MOST_DEPTH } from "./json.ts";
import type { Output } from "./output.ts";

/** Characters of the names of tools, which need not be Python identifiers. */
const IN_NAME = /[\w.-]/;
/** Characters of the names of arguments, which clients choose. */
const IN_KEY = /[^\s=,:()[\]{}"']/;
const IN_NUMBER = /[-+.\w]/;
const ESCAPES: Record<string, string> = { n: "\n", t: "\t", r: "\r", b: "\b", f: "\f", "0": "\0", "\n": "" };
const CODES: Record<string, number> = { x: 2, u: 4, U: 8 };
const LITERALS: Record<string, string> = {
  True: "true",
  False: "false",
  None: "null",
  true: "true",
  false: "false",
  null: "null",
};

/**
 * Takes `f(a=1, b="x")` and passes it on as a call with JSON arguments, as they arrive.
 *
 * @returns false, with nothing passed on, unless a call of a function that `accepts` allows begins; true for one that
 * begins, complete or not
 */
export function* pythonCall(input: Input, out: Output, accepts: (name: string) => boolean): Reading<boolean> {
  const name = yield* input.word(IN_NAME);
  if (!accepts(name) || !(yield* input.accepts("("))) return false;
  input.commit();
  out.call(name);
  yield* keywords(input, (text) => out.arguments(text));
  return true;
}

function* keywords(input: Input, pass: (text: string) => void): Reading<boolean> {
  pass("{");
  for (let first = true; ; first = false) {
    yield* input.space();
    if (yield* input.accepts(")")) break;
    const key = yield* input.word(IN_KEY);
    yield* input.space();
    if (key === "" || !(yield* input.accepts("="))) return false;
    pass(`${first ? "" : ", "}${JSON.stringify(key)}: `);
    yield* input.space();
    if (!(yield* pythonValue(input, pass, 0))) return false;
    yield* input.space();
    if (!(yield* input.accepts(",")) && (yield* input.peek()) !== ")") return false;
  }
  pass("}");
  return true;
}

/** Takes a Python literal and passes it on as JSON. @returns false if there is none */
function* pythonValue(input: Input, pass: (text: string) => void, depth: number): Reading<boolean> {
  const first = yield* input.peek();
  if (first === '"' || first === "'") {
    const text = yield* pythonString(input);
    if (text !== null) pass(JSON.stringify(text));
    return text !== null;
  }
  if (first === "[" || first === "(" || first === "{") {
    return depth < MOST_DEPTH && (yield* container(input, pass, depth, first));
  }
  const word = yield* input.word(IN_NUMBER);
  const json = LITERALS[word] ?? numberJson(word);
  if (json === null) return false;
  pass(json);
  return true;
}

function* container(input: Input, pass: (text: string) => void, depth: number, open: string): Reading<boolean> {
  input.skip();
  const close = open === "[" ? "]" : open === "(" ? ")" : "}";
  const isMap = open === "{";
  pass(isMap ? "{" : "[");
  for (let first = true; ; first = false) {
    yield* input.space();
    if (yield* input.accepts(close)) break;
    if (!first) pass(", ");
    if (isMap) {
      const quote = yield* input.peek();
      const key = quote === '"' || quote === "'" ? yield* pythonString(input) : null;
      yield* input.space();
      if (key === null || !(yield* input.accepts(":"))) return false;
      pass(`${JSON.stringify(key)}: `);
      yield* input.space();
    }
    if (!(yield* pythonValue(input, pass, depth + 1))) return false;
    yield* input.space();
    if (!(yield* input.accepts(",")) && (yield* input.peek()) !== close) return false;
  }
  pass(isMap ? "}" : "]");
  return true;
}

/** The value of a string; null if it does not end. */
function* pythonString(input: Input): Reading<string | null> {
  const quote = yield* input.peek();
  const end = (yield* input.accepts(quote.repeat(3))) ? quote.repeat(3) : quote;
  if (end.length === 1) input.skip();
  let text = "";
  for (;;) {
    if (yield* input.accepts(end)) return text;
    const next = yield* input.peek();
    if (next === "") return null;
    input.skip();
    if (next !== "\\") {
      text += next;
      continue;
    }
    const letter = yield* input.peek();
    if (letter === "") return null;
    input.skip();
    const digits = CODES[letter];
    text += digits === undefined ? (ESCAPES[letter] ?? plain(letter)) : yield* codePoint(input, letter, digits);
  }
}

/** A backslash before other characters stays, except before quotes, a backslash, and a slash, which JSON may escape. */
function plain(letter: string): string {
  return `'"\\/`.includes(letter) ? letter : `\\${letter}`;
}

function* codePoint(input: Input, letter: string, digits: number): Reading<string> {
  let hex = "";
  while (hex.length < digits && /[\da-fA-F]/.test(yield* input.peek())) {
    hex += yield* input.peek();
    input.skip();
  }
  const code = Number.parseInt(hex, 16);
  return hex.length === digits && code <= 0x10ffff ? String.fromCodePoint(code) : `\\${letter}${hex}`;
}

/** A Python number as JSON; null for a text that is not a number. */
function numberJson(text: string): string | null {
  const plainDigits = text.replace(/(?<=\d)_(?=\d)/g, "").replace(/^\+/, "");
  if (/^-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?$/.test(plainDigits)) return plainDigits;
  const value = /^-?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$/.test(plainDigits) ? Number(plainDigits) : Number.NaN;
  return Number.isFinite(value) ? JSON.stringify(value) : null;
}
