import type { Input, Reading } from "./input.ts";
import type { Output } from "./output.ts";

/**
 * Reads answers in which calls stand one behind the other between `open` and `close`; `call` reads one, false for none.
 * An `open` that no call follows is text, and the last `close` may be missing.
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
