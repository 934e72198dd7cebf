import type { Input, Reading } from "./input.ts";
import { jsonString, jsonValue } from "./json.ts";
import type { Output } from "./output.ts";

/**
 * | result | meaning |
 * |---|---|
 * | whole | a complete call was passed on |
 * | broken | the beginning of a call was passed on; the next text is not JSON |
 * | none | there is no call; nothing was taken or passed on |
 */
type JsonCall = "whole" | "broken" | "none";

/** The members of a call. */
export interface CallMembers {
  name: string;
  id: string;
  /** True when the call begins with its name, and its id precedes the name: the arguments need not have begun. */
  early?: boolean;
}
const MEMBERS: CallMembers = { name: "name", id: "id" };

/**
 * Takes `{"name": …, "arguments": …}`. The arguments may be named parameters, precede the name, be missing, or be a string
 * of JSON; other members are skipped. The call is passed on when its name is known and its arguments begin, and the
 * arguments as they arrive.
 */
export function* jsonCall(
  input: Input,
  out: Output,
  accepts: (name: string) => boolean,
  form = MEMBERS,
): Reading<JsonCall> {
  const state = { begun: false };
  let whole = false;
  const called = yield* input.attempt(function* () {
    whole = yield* members(input, out, accepts, state, form);
    return whole || state.begun;
  });
  if (!called) return "none";
  return whole ? "whole" : "broken";
}

function* members(
  input: Input,
  out: Output,
  accepts: (name: string) => boolean,
  state: { begun: boolean },
  form: CallMembers,
): Reading<boolean> {
  let name: string | null = null;
  let id: string | null = null;
  let early: string | null = null;
  let written = false;
  const begin = () => {
    if (name === null || state.begun) return;
    state.begun = true;
    input.commit();
    out.call(name, id);
  };
  if (!(yield* input.accepts("{"))) return false;
  for (;;) {
    yield* input.space();
    const key = yield* jsonString(input);
    yield* input.space();
    if (key === null || !(yield* input.accepts(":"))) return false;
    yield* input.space();
    if (key === form.name && name === null) {
      name = yield* jsonString(input);
      if (name === null || name === "" || !accepts(name)) return false;
      if (form.early && early === null) begin();
    } else if (key === form.id && (yield* input.peek()) === '"') {
      id = yield* jsonString(input);
    } else if ((key === "arguments" || key === "parameters") && !written && early === null) {
      if (name === null) {
        early = yield* kept(input);
        if (early === null) return false;
      } else {
        written = true;
        begin();
        if (!(yield* callArguments(input, (text) => out.arguments(text)))) return false;
      }
    } else if ((yield* kept(input)) === null) return false;
    yield* input.space();
    if (yield* input.accepts("}")) break;
    if (!(yield* input.accepts(","))) return false;
  }
  if (name === null) return false;
  begin();
  if (!written) out.arguments(early ?? "{}");
  return true;
}

/** The complete arguments; null if they are not JSON. */
function* kept(input: Input): Reading<string | null> {
  let text = "";
  const whole = yield* callArguments(input, (piece) => {
    text += piece;
  });
  return whole ? text : null;
}

/**
 * Passes on the arguments of a call that has begun, and takes all text up to the first of `ends`. Text after complete
 * arguments is only their frame and is dropped; text after broken ones is passed on with them. @returns as `until` does
 */
export function* argumentsUntil(input: Input, out: Output, ends: readonly string[]): Reading<string | null> {
  yield* input.space();
  const whole = yield* callArguments(input, (text) => out.arguments(text));
  return yield* input.until(ends, (text) => whole || out.arguments(text));
}

/** Takes arguments and passes them on as a JSON object. Some models write them as a string, or null for no arguments. */
export function* callArguments(input: Input, pass: (text: string) => void): Reading<boolean> {
  const first = yield* input.peek();
  if (first === '"') {
    const text = yield* jsonString(input);
    if (text !== null) pass(text.trim() === "" ? "{}" : text);
    return text !== null;
  }
  if (first === "n") {
    const none = yield* input.accepts("null");
    if (none) pass("{}");
    return none;
  }
  return yield* jsonValue(input, pass);
}
