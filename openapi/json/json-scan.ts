import type { JsonCuts } from "./json-cuts.ts";

/**
 * Upper bounds on one JSON text. The cost of parsing depends on values, not on bytes: 10 MiB of empty arrays are three
 * million objects, which take seconds and hundreds of megabytes. Real requests have far less, such as 4,096 messages of
 * two parts, or 128 tools of a hundred properties each. The bound on values is higher than that on containers, since
 * numbers and strings in arrays are cheap, and prompts may be token ids.
 */
export const JSON_BOUNDS = {
  /** Nested containers. */
  depth: 64,
  /** Arrays and objects. */
  containers: 32_768,
  /** Keys of all objects. */
  members: 65_536,
  /** Items and members together. */
  values: 2 ** 20 + 65_536,
  /** Characters of the name of a member, escapes as written. */
  name: 65_536,
} as const;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/**
 * Counts the values that parsing a JSON text will create, while the text arrives and before it is parsed: a recursive
 * parser overflows its stack on 100,000 brackets. Does not check that the text is valid JSON; the parser does.
 */
export class JsonScan {
  readonly #cuts: JsonCuts | null;
  /** Characters before the text being scanned. */
  #passed = 0;
  #depth = 0;
  #containers = 0;
  #members = 0;
  #values = 1;
  #inString = false;
  /** Positions of the quotes of the last string. */
  #opened = 0;
  #closed = 0;
  /** True when the next character belongs to an escape that began in the previous text. */
  #escaped = false;

  /** @param cuts for a text that is to be parsed in parts */
  constructor(cuts: JsonCuts | null = null) {
    this.#cuts = cuts;
  }

  /** Scans the next characters. Returns the bound that is exceeded, such as "is nested deeper than 64 levels", or null. */
  push(text: string): string | null {
    for (let i = this.#inString ? this.#stringEnd(text, 0) : 0; i < text.length; i++) {
      const code = text.charCodeAt(i);
      if (code === QUOTE) {
        this.#inString = true;
        this.#opened = this.#passed + i;
        // The loop continues after the closing quote.
        i = this.#stringEnd(text, i + 1) - 1;
      } else if (code === COMMA) {
        if (++this.#values > JSON_BOUNDS.values) return `has more than ${JSON_BOUNDS.values} values`;
        this.#cuts?.comma(this.#passed + i);
      } else if (code === COLON) {
        if (++this.#members > JSON_BOUNDS.members) return `has more than ${JSON_BOUNDS.members} object members`;
        if (this.#closed - this.#opened - 1 > JSON_BOUNDS.name) {
          return `has a member's name of more than ${JSON_BOUNDS.name} characters`;
        }
        this.#cuts?.colon();
      } else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
        if (++this.#depth > JSON_BOUNDS.depth) return `is nested deeper than ${JSON_BOUNDS.depth} levels`;
        if (++this.#containers > JSON_BOUNDS.containers) {
          return `has more than ${JSON_BOUNDS.containers} arrays and objects`;
        }
        this.#cuts?.open(this.#passed + i, code === OPEN_BRACKET);
      } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) {
        this.#depth--;
        this.#cuts?.close(this.#passed + i, code === CLOSE_BRACKET);
      }
    }
    this.#passed += text.length;
    return null;
  }

  /** Position after the string around `start`. Searching for quotes takes a quarter of the time of looking at each character. */
  #stringEnd(text: string, start: number): number {
    if (start === text.length) return start;
    const free = this.#escaped ? start + 1 : start;
    let from = free;
    this.#escaped = false;
    for (let quote = text.indexOf('"', from); quote >= 0; quote = text.indexOf('"', from)) {
      const escaped = backslashesBefore(text, quote, from) % 2 === 1;
      from = quote + 1;
      if (escaped) continue;
      this.#inString = false;
      this.#closed = this.#passed + quote;
      this.#cuts?.endOfString(this.#closed);
      return from;
    }
    this.#escaped = backslashesBefore(text, text.length, from) % 2 === 1;
    const end = outsideEscape(text, free);
    if (end !== null) this.#cuts?.withinString(this.#opened, this.#passed + end);
    return text.length;
  }
}

/** Characters of the longest escape, such as \u0416. */
const ESCAPE = 6;

/** The last position of a string text that is not within an escape, beginning at `start`; null for a short text. */
function outsideEscape(text: string, start: number): number | null {
  for (let at = text.length; at - start > 2 * ESCAPE; at--) if (!isInEscape(text, at, start)) return at;
  return null;
}

function isInEscape(text: string, at: number, start: number): boolean {
  if (backslashesBefore(text, at, start) % 2 === 1) return true;
  const u = text.lastIndexOf("u", at - 1);
  return u > at - ESCAPE + 1 && backslashesBefore(text, u, start) % 2 === 1;
}

function backslashesBefore(text: string, end: number, start: number): number {
  let at = end;
  while (at > start && text.charCodeAt(at - 1) === BACKSLASH) at--;
  return end - at;
}
