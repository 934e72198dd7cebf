import { type ApiError, invalidRequest } from "./api-error.ts";
import { JsonScan } from "./json-scan.ts";

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Bytes to a JSON value. Throws a 400 for what is not UTF-8, begins with a byte order mark, has more than JSON_BOUNDS
 * of anything, is not JSON, or has text that is no text: NUL and lone surrogates, which JSON can write as escapes.
 */
export function parseJson(bytes: Uint8Array): unknown {
  checkBounds(new JsonScan(), bytes);
  return parseText(decodeText(bytes));
}

/** Throws a 400 when the bytes, which go on where the scan is, take the text beyond JSON_BOUNDS. */
export function checkBounds(scan: JsonScan, bytes: Uint8Array): void {
  const tooMuch = scan.push(bytes);
  if (tooMuch !== null) throw malformed(`The request body ${tooMuch}.`);
}

/** UTF-8 to text. Throws a 400. */
export function decodeText(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch {
    throw malformed("The request body is not valid UTF-8.");
  }
}

/** Only for a text whose bytes were within the bounds. Throws a 400. */
export function parseText(text: string): unknown {
  if (text === "") throw malformed("The request body is empty; a JSON object is expected.");
  const value = parse(text);
  if (text.includes("\\u") && /\\u(?:0000|d[89a-f])/i.test(text) && hasBrokenText(value)) {
    throw malformed("The request body has a string with a NUL character or half of a surrogate pair.");
  }
  return value;
}

function malformed(message: string): ApiError {
  return invalidRequest("invalid_json", null, message);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The parser's own message quotes the body, and the body is the prompt.
    throw malformed("We could not parse the JSON body of your request.");
  }
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
