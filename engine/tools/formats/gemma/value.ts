import type { Input, Reading } from "../../syntax/input.ts";
import { escaped, MOST_DEPTH } from "../../syntax/json.ts";

const IN_WORD = /[^\s,:{}[\]<]/;

/**
 * Takes a value such as `{a:<quote>x<quote>,b:[1,true]}` and passes it on as JSON. Keys are bare, strings are between quotes.
 *
 * @returns false if there is none
 */
export function* gemmaValue(input: Input, pass: (text: string) => void, quote: string, depth = 0): Reading<boolean> {
  const first = yield* input.peek();
  if (first === "{" || first === "[") return depth < MOST_DEPTH && (yield* container(input, pass, quote, depth, first));
  if (yield* input.accepts(quote)) return yield* text(input, pass, quote);
  const word = yield* input.word(IN_WORD);
  if (word === "") return false;
  // A bare word that is neither a number nor a literal is a string.
  pass(isJson(word) ? word : JSON.stringify(word));
  return true;
}

function* text(input: Input, pass: (text: string) => void, quote: string): Reading<boolean> {
  pass('"');
  if ((yield* input.until([quote], (piece) => pass(escaped(piece)))) === null) return false;
  pass('"');
  return true;
}

function* container(
  input: Input,
  pass: (text: string) => void,
  quote: string,
  depth: number,
  open: string,
): Reading<boolean> {
  input.skip();
  const close = open === "{" ? "}" : "]";
  pass(open);
  for (let first = true; ; first = false) {
    yield* input.space();
    if (yield* input.accepts(close)) break;
    if (!first) pass(", ");
    if (open === "{") {
      const quoted = yield* input.accepts(quote);
      let key = "";
      if (quoted) {
        yield* input.until([quote], (piece) => {
          key += piece;
        });
      } else key = yield* input.word(IN_WORD);
      yield* input.space();
      if (key === "" || !(yield* input.accepts(":"))) return false;
      pass(`${JSON.stringify(key)}: `);
      yield* input.space();
    }
    if (!(yield* gemmaValue(input, pass, quote, depth + 1))) return false;
    yield* input.space();
    if (!(yield* input.accepts(",")) && (yield* input.peek()) !== close) return false;
  }
  pass(close);
  return true;
}

function isJson(word: string): boolean {
  try {
    JSON.parse(word);
    return true;
  } catch {
    return false;
  }
}
