import { type ApiError, invalidRequest } from "./api-error.ts";
import { JsonScan } from "./json-scan.ts";

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Bytes to a JSON value. Throws a 400 for what is not UTF-8, begins with a byte order mark, has more than JSON_BOUNDS
 * of anything, is not JSON, or has text that is no text: NUL and lone surrogates, which JSON can write as escapes.
 */
export function parseJson(bytes: Uint8Array): unknown {
  checkBounds(new JsonScan(), bytes);
  const text = decodeText(bytes);
  return checkedText(text, parseText(text));
}

/** Bytes of a text that are decoded together. */
const DECODED_BYTES = 128 * 1024;

/** A JSON text whose bytes come in pieces. */
export class BodyText {
  readonly #scan = new JsonScan();
  #text = "";
  #chunks: Uint8Array[] = [];
  #size = 0;

  /** Throws a 400 for bytes that are not UTF-8, or take the text beyond JSON_BOUNDS. */
  push(bytes: Uint8Array): void {
    checkBounds(this.#scan, bytes);
    this.#chunks.push(bytes);
    this.#size += bytes.byteLength;
    if (this.#size < DECODED_BYTES) return;
    const joined = this.#joined();
    const end = lastCharacterStart(joined);
    this.#text += decodeText(joined.subarray(0, end));
    this.#chunks = [joined.subarray(end)];
    this.#size = joined.length - end;
  }

  /** The whole text. Throws a 400. */
  end(): string {
    return this.#text + decodeText(this.#joined());
  }

  #joined(): Uint8Array {
    return this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks, this.#size);
  }
}

/** Where the last character begins, which may not be whole (UTF-8 has at most three further bytes). */
function lastCharacterStart(bytes: Uint8Array): number {
  let at = bytes.length - 1;
  while (at > bytes.length - 4 && ((bytes[at] ?? 0) & 0xc0) === 0x80) at--;
  return at;
}

/** Throws a 400 when the bytes, which go on where the scan is, take the text beyond JSON_BOUNDS. */
function checkBounds(scan: JsonScan, bytes: Uint8Array): void {
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
  try {
    return JSON.parse(text);
  } catch {
    // The parser's own message quotes the body, and the body is the prompt.
    throw malformed("We could not parse the JSON body of your request.");
  }
}

/** The value of the text. Throws a 400 where it has text that is no text. */
export function checkedText(text: string, value: unknown): unknown {
  if (text.includes("\\u") && /\\u(?:0000|d[89a-f])/i.test(text) && hasBrokenText(value)) {
    throw malformed("The request body has a string with a NUL character or half of a surrogate pair.");
  }
  return value;
}

function malformed(message: string): ApiError {
  return invalidRequest("invalid_json", null, message);
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
