import type { Input, Reading } from "./input.ts";
import type { Output } from "./output.ts";

/**
 * Reads answers with consecutive calls between `open` and `close`. `call` reads one call and returns false if there is none.
 * An `open` without a call is text. The last `close` may be missing.
 */
export function callBlocks(open: string, close: string, call: (input: Input, out: Output) => Reading<boolean>) {
  return function* (input: Input, out: Output): Reading {
    for (;;) {
      if ((yield* input.until([open], (text) => out.text(text))) === null) return;
      let any = false;
      while (yield* input.attempt(() => call(input, out))) any = true;
      if (!any) out.text(open);
      else
        yield* input.attempt(function* () {
          yield* input.space();
          return yield* input.accepts(close);
        });
    }
  };
}
