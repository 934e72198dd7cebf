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
} as const;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;

/**
 * Counts what parsing a JSON text will make, while its bytes come in and before a parser sees them: a recursive one
 * overflows its stack on 100,000 brackets. In UTF-8 no byte of a longer character looks like one of the marks, so bytes
 * are enough; whether the text is JSON at all, the parser tells.
 */
export class JsonScan {
  #depth = 0;
  #containers = 0;
  #members = 0;
  #values = 1;
  #inString = false;
  /** The next byte belongs to an escape that began before. */
  #escaped = false;

  /** Takes the next bytes. Says what is too much, such as "is nested deeper than 64 levels"; null while nothing is. */
  push(bytes: Uint8Array): string | null {
    let i = this.#inString ? this.#stringEnd(bytes, 0) : 0;
    for (; i < bytes.length; i++) {
      const byte = bytes[i];
      if (byte === QUOTE) {
        this.#inString = true;
        // The loop goes on behind the closing quote.
        i = this.#stringEnd(bytes, i + 1) - 1;
      } else if (byte === COMMA) {
        if (++this.#values > JSON_BOUNDS.values) return `has more than ${JSON_BOUNDS.values} values`;
      } else if (byte === COLON) {
        if (++this.#members > JSON_BOUNDS.members) return `has more than ${JSON_BOUNDS.members} object members`;
      } else if (byte === 0x7b || byte === 0x5b) {
        if (++this.#depth > JSON_BOUNDS.depth) return `is nested deeper than ${JSON_BOUNDS.depth} levels`;
        if (++this.#containers > JSON_BOUNDS.containers) {
          return `has more than ${JSON_BOUNDS.containers} arrays and objects`;
        }
      } else if (byte === 0x7d || byte === 0x5d) {
        this.#depth--;
      }
    }
    return null;
  }

  /** Where the string that the position lies in is over. Looking for quotes alone takes a fourth of the time. */
  #stringEnd(bytes: Uint8Array, start: number): number {
    if (start === bytes.length) return start;
    let from = this.#escaped ? start + 1 : start;
    this.#escaped = false;
    for (let quote = bytes.indexOf(QUOTE, from); quote >= 0; quote = bytes.indexOf(QUOTE, from)) {
      const escaped = backslashesBefore(bytes, quote, from) % 2 === 1;
      from = quote + 1;
      if (escaped) continue;
      this.#inString = false;
      return from;
    }
    this.#escaped = backslashesBefore(bytes, bytes.length, from) % 2 === 1;
    return bytes.length;
  }
}

function backslashesBefore(bytes: Uint8Array, end: number, start: number): number {
  let at = end;
  while (at > start && bytes[at - 1] === BACKSLASH) at--;
  return end - at;
}
