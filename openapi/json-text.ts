import { type ApiError, invalidRequest } from "./api-error.ts";

/** Containers in containers; messages and schemas of real clients stay far below. */
const MAX_DEPTH = 64;
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Bytes to a JSON value. Throws a 400 for what is not UTF-8, begins with a byte order mark, is nested deeper than 64, is
 * not JSON, or has text that is no text: NUL and lone surrogates, which JSON can write as escapes.
 */
export function parseJson(bytes: Uint8Array): unknown {
  if (bytes.byteLength === 0) throw malformed("The request body is empty; a JSON object is expected.");
  // Before any parser sees it: a recursive one overflows its stack on 100,000 brackets.
  if (deeperThan(bytes, MAX_DEPTH)) throw malformed(`The request body is nested deeper than ${MAX_DEPTH} levels.`);
  const text = decode(bytes);
  const value = parse(text);
  if (text.includes("\\u") && /\\u(?:0000|d[89a-f])/i.test(text) && hasBrokenText(value)) {
    throw malformed("The request body has a string with a NUL character or half of a surrogate pair.");
  }
  return value;
}

function malformed(message: string): ApiError {
  return invalidRequest("invalid_json", null, message);
}

function decode(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch {
    throw malformed("The request body is not valid UTF-8.");
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The parser's own message quotes the body, and the body is the prompt.
    throw malformed("We could not parse the JSON body of your request.");
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** In UTF-8 no byte of a longer character looks like one of these marks, so bytes are enough. */
function deeperThan(bytes: Uint8Array, limit: number): boolean {
  let depth = 0;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i];
    if (byte === QUOTE) {
      i = endOfString(bytes, i);
    } else if (byte === 0x7b || byte === 0x5b) {
      if (++depth > limit) return true;
    } else if (byte === 0x7d || byte === 0x5d) {
      depth--;
    }
  }
  return false;
}

/** Where the string that begins here has its closing quote. Looking for quotes alone takes a fourth of the time. */
function endOfString(bytes: Uint8Array, start: number): number {
  for (let end = bytes.indexOf(QUOTE, start + 1); end >= 0; end = bytes.indexOf(QUOTE, end + 1)) {
    let escapes = 0;
    while (bytes[end - 1 - escapes] === BACKSLASH) escapes++;
    if (escapes % 2 === 0) return end;
  }
  return bytes.length;
}

function hasBrokenText(value: unknown): boolean {
  if (typeof value === "string") return isBroken(value);
  if (typeof value !== "object" || value === null) return false;
  if (Array.isArray(value)) return value.some(hasBrokenText);
  return Object.entries(value).some(([key, entry]) => isBroken(key) || hasBrokenText(entry));
}

function isBroken(text: string): boolean {
  return text.includes("\0") || /\p{Surrogate}/u.test(text);
}
