import { CodePoints, type Range } from "./code-points.ts";
import { type PausedWork, Pauses } from "./paused-work.ts";

/** A text that is not GBNF, or a grammar that is refused. Its message is a sentence. */
export class GbnfError extends Error {
  override readonly name = "GbnfError";
}

export type Item =
  | { kind: "text"; text: string }
  | { kind: "chars"; set: CodePoints }
  | { kind: "rule"; name: string }
  | { kind: "choice"; alternatives: Sequence[] }
  | { kind: "repeat"; item: Item; min: number /** null: unbounded. */; max: number | null };
export type Sequence = Item[];

/** The rules of a grammar by name, each a choice. */
export type Rules = ReadonlyMap<string, Sequence[]>;

const MOST_CHARACTERS = 512 * 1024;
const MOST_DEPTH = 64;
const MOST_RULES = 20_000;
const LAST_POINT = 0x10ffff;

/**
 * Parses GBNF, the notation of llama.cpp (grammars/README.md there), without its references to tokens. Repetitions are not
 * expanded here.
 *
 * @throws GbnfError
 */
export function* parsedGbnf(text: string): PausedWork<Rules> {
  if (text.length > MOST_CHARACTERS) throw new GbnfError(`The grammar is longer than ${MOST_CHARACTERS} characters.`);
  return yield* new GbnfReader(text).rules();
}

class GbnfReader {
  readonly #text: string;
  #at = 0;
  #depth = 0;
  readonly #pauses = new Pauses();

  constructor(text: string) {
    this.#text = text;
  }

  *rules(): PausedWork<Rules> {
    const rules = new Map<string, Sequence[]>();
    this.#space(true);
    while (this.#at < this.#text.length) {
      const name = this.#match(/[A-Za-z0-9-]+/y) ?? this.#fail("the name of a rule is expected");
      if (rules.has(name)) this.#fail(`the rule '${shown(name)}' is defined twice`);
      this.#space(false);
      if (this.#match(/::=/y) === null) this.#fail("'::=' is expected");
      this.#space(true);
      rules.set(name, yield* this.#choice(false));
      if (rules.size > MOST_RULES) this.#fail(`there are more than ${MOST_RULES} rules`);
      if (this.#at < this.#text.length && this.#match(/\r\n?|\n/y) === null) this.#fail("a line break is expected");
      this.#space(true);
    }
    return rules;
  }

  /** Spaces and comments; with `lines` also line breaks. */
  #space(lines: boolean): void {
    this.#match(lines ? /(?:[ \t\r\n]|#[^\r\n]*)*/y : /(?:[ \t]|#[^\r\n]*)*/y);
  }

  #match(pattern: RegExp): string | null {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text);
    if (found === null) return null;
    this.#at += found[0].length;
    return found[0];
  }

  #fail(what: string): never {
    const before = this.#text.slice(0, this.#at).split("\n");
    throw new GbnfError(
      `The grammar has a syntax error at line ${before.length}, column ${before.at(-1)!.length + 1}: ${what}.`,
    );
  }

  *#choice(nested: boolean): PausedWork<Sequence[]> {
    if (++this.#depth > MOST_DEPTH) this.#fail(`it is nested deeper than ${MOST_DEPTH} levels`);
    const alternatives = [yield* this.#sequence(nested)];
    while (this.#match(/\|/y) !== null) {
      this.#space(true);
      alternatives.push(yield* this.#sequence(nested));
    }
    this.#depth--;
    return alternatives;
  }

  *#sequence(nested: boolean): PausedWork<Sequence> {
    const items: Item[] = [];
    let repeats = 0;
    for (;;) {
      if (this.#pauses.due()) yield;
      const item = yield* this.#item();
      if (item !== null) {
        repeats = 0;
        items.push(item);
      } else {
        const times = this.#repetition();
        if (times === null) return items;
        const last = items.pop() ?? this.#fail("there is nothing to repeat");
        if (++repeats > MOST_DEPTH) this.#fail("it repeats repetitions too deep");
        items.push({ kind: "repeat", item: last, ...times });
      }
      this.#space(nested);
    }
  }

  *#item(): PausedWork<Item | null> {
    switch (this.#text[this.#at]) {
      case '"':
        return { kind: "text", text: this.#literal() };
      case "[":
        return { kind: "chars", set: this.#class() };
      case ".":
        this.#at++;
        return { kind: "chars", set: CodePoints.all };
      case "(": {
        this.#at++;
        this.#space(true);
        const alternatives = yield* this.#choice(true);
        if (this.#match(/\)/y) === null) this.#fail("')' is expected");
        return { kind: "choice", alternatives };
      }
      case "<":
      case "!":
        return this.#fail("token references are not supported; write the text of the token as a literal");
      default: {
        const name = this.#match(/[A-Za-z0-9-]+/y);
        return name === null ? null : { kind: "rule", name };
      }
    }
  }

  #repetition(): { min: number; max: number | null } | null {
    switch (this.#match(/[*+?]/y)) {
      case "*":
        return { min: 0, max: null };
      case "+":
        return { min: 1, max: null };
      case "?":
        return { min: 0, max: 1 };
    }
    if (this.#text[this.#at] !== "{") return null;
    const braces =
      this.#match(/\{\s*\d{1,9}\s*(?:,\s*(?:\d{1,9}\s*)?)?\}/y) ?? this.#fail("'{m}', '{m,}' or '{m,n}' is expected");
    const [min, max] = braces
      .slice(1, -1)
      .split(",")
      .map((part) => part.trim());
    const least = Number(min);
    const most = max === undefined ? least : max === "" ? null : Number(max);
    if (most !== null && most < least) this.#fail("the repetition ends before it begins");
    return { min: least, max: most };
  }

  #literal(): string {
    this.#at++;
    let text = "";
    while (this.#text[this.#at] !== '"') text += String.fromCodePoint(this.#char());
    this.#at++;
    return text;
  }

  #class(): CodePoints {
    this.#at++;
    const negated = this.#match(/\^/y) !== null;
    const ranges: Range[] = [];
    while (this.#text[this.#at] !== "]") {
      const from = this.#char();
      let to = from;
      if (this.#text[this.#at] === "-" && this.#text[this.#at + 1] !== "]") {
        this.#at++;
        to = this.#char();
      }
      if (to < from) this.#fail("a range runs backward");
      ranges.push([from, to]);
    }
    this.#at++;
    const set = new CodePoints(ranges);
    return negated ? set.complement() : set;
  }

  #char(): number {
    const char = this.#text.codePointAt(this.#at) ?? this.#fail("a quote or bracket is never closed");
    this.#at += char > 0xffff ? 2 : 1;
    if (char !== 0x5c) return char;
    const hex = this.#match(/x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}/y);
    if (hex !== null) {
      const point = Number.parseInt(hex.slice(1), 16);
      if (point > LAST_POINT || (point >= 0xd800 && point < 0xe000)) this.#fail("an escape is no character");
      return point;
    }
    const sign = this.#match(/[trn\\"[\]-]/y) ?? this.#fail("an escape is not known");
    return { t: 9, r: 13, n: 10 }[sign] ?? sign.codePointAt(0)!;
  }
}

function shown(name: string): string {
  return name.length > 64 ? `${name.slice(0, 64)}…` : name;
}
