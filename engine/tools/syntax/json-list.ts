import type { Input, Reading } from "./input.ts";
import { type CallMembers, jsonCall } from "./json-call.ts";
import type { Output } from "./output.ts";
import { anyName } from "./tool-names.ts";

/** Takes a list of calls, `[{"name": …, "arguments": …}, …]`. @returns false when there is none, and nothing was passed on */
export function* jsonList(input: Input, out: Output, form?: CallMembers): Reading<boolean> {
  yield* input.space();
  if (!(yield* input.accepts("["))) return false;
  let any = false;
  for (;;) {
    yield* input.space();
    const call = yield* jsonCall(input, out, anyName, form);
    if (call === "broken") yield* input.until([], (text) => out.arguments(text));
    if (call !== "whole") return any || call === "broken";
    any = true;
    yield* input.space();
    if (yield* input.accepts(",")) continue;
    yield* input.accepts("]");
    return true;
  }
}
