import type { Input, Reading } from "./input.ts";

/** Most nested containers of a value, as in the JSON of requests (JSON_BOUNDS.depth). */
export const MOST_DEPTH = 64;
const LITERALS = ["true", "false", "null"];
const IN_NUMBER = /[-+.\deE]/;
const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?$/;

/**
 * Takes one JSON value and passes it on as written, without the white space around it. Control characters in strings
 * become escapes, since models write line breaks there.
 *
 * @returns false at the first character that cannot be JSON, which is not taken; or when the text ends within the value
 */
export function* jsonValue(input: Input, pass: (text: string) => void, depth = 0): Reading<boolean> {
  const first = yield* input.peek();
  if (first === '"') return yield* stringText(input, pass);
  if (first === "{" || first === "[") return depth < MOST_DEPTH && (yield* container(input, pass, depth));
  for (const literal of LITERALS) {
    if (first !== literal[0]) continue;
    if (!(yield* input.accepts(literal))) return false;
    pass(literal);
    return true;
  }
  const number = yield* numberText(input);
  pass(number);
  return NUMBER.test(number);
}

function* container(input: Input, pass: (text: string) => void, depth: number): Reading<boolean> {
  const open = yield* input.peek();
  const close = open === "{" ? "}" : "]";
  const one = (text: string) => {
    input.skip();
    pass(text);
  };
  one(open);
  yield* spaceText(input, pass);
  if ((yield* input.peek()) === close) {
    one(close);
    return true;
  }
  for (;;) {
    if (open === "{") {
      if ((yield* input.peek()) !== '"' || !(yield* stringText(input, pass))) return false;
      yield* spaceText(input, pass);
      if ((yield* input.peek()) !== ":") return false;
      one(":");
      yield* spaceText(input, pass);
    }
    if (!(yield* jsonValue(input, pass, depth + 1))) return false;
    yield* spaceText(input, pass);
    const next = yield* input.peek();
    if (next !== "," && next !== close) return false;
    one(next);
    if (next === close) return true;
    yield* spaceText(input, pass);
  }
}

/** The value of a string; null if there is no string. */
export function* jsonString(input: Input): Reading<string | null> {
  let text = "";
  if ((yield* input.peek()) !== '"') return null;
  const whole = yield* stringText(input, (piece) => {
    text += piece;
  });
  return whole ? decoded(text) : null;
}

function decoded(text: string): string | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "string" ? value : null;
  } catch {
    return null;
  }
}

function* stringText(input: Input, pass: (text: string) => void): Reading<boolean> {
  input.skip();
  pass('"');
  for (;;) {
    const next = yield* input.peek();
    if (next === "") return false;
    input.skip();
    if (next !== "\\") {
      pass(next < " " ? escaped(next) : next);
      if (next === '"') return true;
      continue;
    }
    const character = yield* input.peek();
    if (character === "") return false;
    input.skip();
    pass(next + character);
  }
}

function* numberText(input: Input): Reading<string> {
  let text = "";
  for (let next = yield* input.peek(); next !== "" && IN_NUMBER.test(next); next = yield* input.peek()) {
    input.skip();
    text += next;
  }
  return text;
}

function* spaceText(input: Input, pass: (text: string) => void): Reading {
  for (let next = yield* input.peek(); next !== "" && " \t\n\r".includes(next); next = yield* input.peek()) {
    input.skip();
    pass(next);
  }
}

/** Characters that JSON.stringify escapes. It keeps control characters above U+001F. */
const ESCAPED = /["\\\p{Cc}]/gu;

/** The text as the inside of a JSON string. Texts that are escaped one by one can be joined. */
export function escaped(text: string): string {
  return text.replace(ESCAPED, (character) => JSON.stringify(character).slice(1, -1));
}
