import { CodePoints, type Range } from "../gbnf/code-points.ts";
import { oneOf } from "../gbnf/literal.ts";

/** A text that is not a regular expression, or that a grammar cannot enforce. Its message follows "Unsupported value:". */
export class UnsupportedPattern extends Error {
  override readonly name = "UnsupportedPattern";
}

const MOST_CHARACTERS = 4096;
const MOST_DEPTH = 32;
const DIGIT = new CodePoints([[0x30, 0x39]]);
const WORD = new CodePoints([
  [0x30, 0x39],
  [0x41, 0x5a],
  [0x5f, 0x5f],
  [0x61, 0x7a],
]);
const LINE_ENDS: Range[] = [
  [0x0a, 0x0a],
  [0x0d, 0x0d],
  [0x2028, 0x2029],
];
const SPACE = new CodePoints([
  [0x09, 0x0d],
  [0x20, 0x20],
  [0xa0, 0xa0],
  [0x1680, 0x1680],
  [0x2000, 0x200a],
  [0x2028, 0x2029],
  [0x202f, 0x202f],
  [0x205f, 0x205f],
  [0x3000, 0x3000],
  [0xfeff, 0xfeff],
]);
const SETS: Readonly<Record<string, CodePoints>> = {
  d: DIGIT,
  D: DIGIT.complement(),
  w: WORD,
  W: WORD.complement(),
  s: SPACE,
  S: SPACE.complement(),
};
const HYPHEN = 0x2d;
const CONTROLS: Readonly<Record<string, number>> = { 0: 0, f: 12, n: 10, r: 13, t: 9, v: 11 };

/**
 * The right-hand side in GBNF for an ECMA-262 regular expression. As in JSON Schema, it may match anywhere in the text
 * unless it is anchored. Lookarounds and back references are refused.
 *
 * @param charOf the right-hand side for one character of a set
 * @throws UnsupportedPattern
 */
export function patternRule(pattern: string, charOf: (set: CodePoints) => string, mostRepetitions: number): string {
  if (pattern.length > MOST_CHARACTERS) throw new UnsupportedPattern(`at most ${MOST_CHARACTERS} characters.`);
  if (!isRegExp(pattern, "u") && !isRegExp(pattern, ""))
    throw new UnsupportedPattern("it is not a regular expression.");
  return new PatternReader(pattern, charOf, mostRepetitions).whole();
}

function isRegExp(pattern: string, flags: string): boolean {
  try {
    new RegExp(pattern, flags);
    return true;
  } catch {
    return false;
  }
}

class PatternReader {
  readonly #chars: string[];
  readonly #charOf: (set: CodePoints) => string;
  readonly #mostRepetitions: number;
  #at = 0;

  constructor(pattern: string, charOf: (set: CodePoints) => string, mostRepetitions: number) {
    this.#chars = [...pattern];
    this.#charOf = charOf;
    this.#mostRepetitions = mostRepetitions;
  }

  whole(): string {
    const anything = `${this.#charOf(CodePoints.all)}*`;
    const alternatives: string[] = [];
    do {
      const begins = this.#take("^");
      const body = this.#sequence(0);
      const ends = this.#take("$");
      if (!this.#over && this.#peek !== "|") throw this.#unsupported("an anchor within the pattern");
      alternatives.push(`${begins ? "" : anything} ${body} ${ends ? "" : anything}`.trim() || '""');
    } while (this.#take("|"));
    return oneOf(alternatives);
  }

  get #over(): boolean {
    return this.#at >= this.#chars.length;
  }

  get #peek(): string | undefined {
    return this.#chars[this.#at];
  }

  #take(char: string): boolean {
    if (this.#peek !== char) return false;
    this.#at++;
    return true;
  }

  #next(): string {
    const char = this.#chars[this.#at++];
    if (char === undefined) throw this.#unsupported("its end");
    return char;
  }

  #unsupported(what: string): UnsupportedPattern {
    return new UnsupportedPattern(`${what} (character ${this.#at}) cannot be enforced.`);
  }

  #sequence(depth: number): string {
    const parts: string[] = [];
    while (!this.#over && !"|)$".includes(this.#peek!)) {
      const atom = this.#atom(depth);
      parts.push(`${atom}${this.#repetition()}`);
    }
    return parts.length === 0 ? '""' : parts.join(" ");
  }

  #atom(depth: number): string {
    const char = this.#next();
    switch (char) {
      case "(":
        return this.#group(depth);
      case "[":
        return this.#charOf(this.#class());
      case ".":
        return this.#charOf(new CodePoints(LINE_ENDS).complement());
      case "\\":
        return this.#charOf(this.#escape(false));
      case "^":
        throw this.#unsupported("an anchor within the pattern");
      default:
        return this.#charOf(CodePoints.of(char));
    }
  }

  #group(depth: number): string {
    if (depth >= MOST_DEPTH) throw this.#unsupported("nesting this deep");
    if (this.#take("?")) {
      if (this.#take("<")) {
        if (this.#peek === "=" || this.#peek === "!") throw this.#unsupported("a lookbehind");
        while (this.#next() !== ">");
      } else if (!this.#take(":")) {
        throw this.#unsupported("a lookahead");
      }
    }
    const alternatives: string[] = [];
    do alternatives.push(this.#sequence(depth + 1));
    while (this.#take("|"));
    if (!this.#take(")")) throw this.#unsupported("an anchor within the pattern");
    return `(${alternatives.join(" | ")})`;
  }

  #repetition(): string {
    const sign = this.#peek;
    let suffix = "";
    if (sign === "*" || sign === "+" || sign === "?") {
      this.#at++;
      suffix = sign;
    } else if (sign === "{") {
      const braces = /^\{(\d+)(?:(,)(\d*))?\}/.exec(this.#chars.slice(this.#at, this.#at + 32).join(""));
      if (braces === null) return "";
      this.#at += braces[0].length;
      if (Number(braces[1]) > this.#mostRepetitions || Number(braces[3] ?? 0) > this.#mostRepetitions) {
        throw new UnsupportedPattern(`at most ${this.#mostRepetitions} repetitions can be enforced.`);
      }
      suffix = braces[0];
    }
    // A lazy repetition matches the same texts.
    if (suffix !== "") this.#take("?");
    return suffix;
  }

  #class(): CodePoints {
    const negated = this.#take("^");
    const ranges: Range[] = [];
    while (!this.#take("]")) {
      const low = this.#classItem().ranges;
      const from = low.length === 1 && low[0]![0] === low[0]![1] ? low[0]![0] : null;
      if (from !== null && this.#peek === "-" && this.#chars[this.#at + 1] !== "]") {
        this.#at++;
        const { ranges: high } = this.#classItem();
        const to = high.length === 1 && high[0]![0] === high[0]![1] ? high[0]![0] : null;
        if (to !== null && to < from) throw this.#unsupported("a range that runs backward");
        // Without the flag `u`, a hyphen before a set is a character.
        if (to === null) ranges.push([from, from], [HYPHEN, HYPHEN], ...high);
        else ranges.push([from, to]);
      } else {
        ranges.push(...low);
      }
    }
    const set = new CodePoints(ranges);
    return negated ? set.complement() : set;
  }

  #classItem(): CodePoints {
    const char = this.#next();
    return char === "\\" ? this.#escape(true) : CodePoints.of(char);
  }

  #escape(inClass: boolean): CodePoints {
    const char = this.#next();
    const set = SETS[char];
    if (set !== undefined) return set;
    if (char in CONTROLS) return single(CONTROLS[char]!);
    if (char === "x") return single(this.#hex(2));
    if (char === "u") return single(this.#take("{") ? this.#braced() : this.#hex(4));
    if (char === "b" && inClass) return single(8);
    if (/[A-Za-z0-9]/.test(char)) throw this.#unsupported(`'\\${char}'`);
    return CodePoints.of(char);
  }

  #hex(digits: number): number {
    const text = this.#chars.slice(this.#at, this.#at + digits).join("");
    if (text.length !== digits || !/^[0-9A-Fa-f]+$/.test(text)) throw this.#unsupported("an invalid escape");
    this.#at += digits;
    return Number.parseInt(text, 16);
  }

  #braced(): number {
    let text = "";
    for (let char = this.#next(); char !== "}"; char = this.#next()) text += char;
    const point = Number.parseInt(text, 16);
    if (!(point <= 0x10ffff)) throw this.#unsupported("an invalid escape");
    return point;
  }
}

function single(point: number): CodePoints {
  return new CodePoints([[point, point]]);
}
