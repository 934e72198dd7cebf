import type { JsonCuts } from "./json-cuts.ts";

/**
 * Most of each that one JSON text may have. Parsing costs by values, not by bytes: 10 MiB of empty arrays are three
 * million objects, which take seconds and hundreds of megabytes. Real requests stay far below: 4,096 messages of two
 * parts, 128 tools of a hundred properties each. Numbers and strings in lists are cheap, and prompts may be tokens.
 */
export const JSON_BOUNDS = {
  /** Containers in containers. */
  depth: 64,
  /** Arrays and objects. */
  containers: 32_768,
  /** Keys of all objects. */
  members: 65_536,
  /** Items and members together. */
  values: 2 ** 20 + 65_536,
  /** Characters of a member's name, as it is written. */
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
 * Counts what parsing a JSON text will make, while it comes and before a parser sees it: a recursive one overflows its
 * stack on 100,000 brackets. Whether the text is JSON at all, the parser tells.
 */
export class JsonScan {
  readonly #cuts: JsonCuts | null;
  /** Characters before those that are looked at. */
  #passed = 0;
  #depth = 0;
  #containers = 0;
  #members = 0;
  #values = 1;
  #inString = false;
  /** Where the last string began and ended. */
  #opened = 0;
  #closed = 0;
  /** The next character belongs to an escape that began before. */
  #escaped = false;

  /** @param cuts to be made for a text that is parsed part by part */
  constructor(cuts: JsonCuts | null = null) {
    this.#cuts = cuts;
  }

  /** Takes what follows. Says what is too much, such as "is nested deeper than 64 levels"; null while nothing is. */
  push(text: string): string | null {
    for (let i = this.#inString ? this.#stringEnd(text, 0) : 0; i < text.length; i++) {
      const code = text.charCodeAt(i);
      if (code === QUOTE) {
        this.#inString = true;
        this.#opened = this.#passed + i;
        // The loop goes on behind the closing quote.
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

  /** Where the string that the position lies in is over. Looking for quotes alone takes a fourth of the time. */
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

/** The last place in a text that is a string from `start` on with no escape around it; null for a short one. */
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
