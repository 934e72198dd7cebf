import type { Input, Reading } from "./input.ts";

/** The depth that the server allows a request's own JSON. */
const DEEPEST = 64;
const LITERALS = ["true", "false", "null"];
const IN_NUMBER = /[-+.\deE]/;
const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?$/;

/**
 * Takes one JSON value and passes it on as it is written, less the white space around it. Control characters in strings,
 * for models do write line breaks there, become their escapes.
 *
 * @returns false at the first character that can't be JSON, which is not taken; or when the text ends before the value
 */
export function* jsonValue(input: Input, pass: (text: string) => void, depth = 0): Reading<boolean> {
  const first = yield* input.peek();
  if (first === '"') return yield* stringText(input, pass);
  if (first === "{" || first === "[") return depth < DEEPEST && (yield* container(input, pass, depth));
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

/** A string as its value; null where there is none. */
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

/** JSON.stringify leaves control characters past U+001F as they are. */
const ESCAPED = /["\\\p{Cc}]/gu;

/** The inside of a JSON string: texts escaped one by one are together the escape of all of them. */
export function escaped(text: string): string {
  return text.replace(ESCAPED, (character) => JSON.stringify(character).slice(1, -1));
}
