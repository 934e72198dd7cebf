import { finished, type PausedWork } from "../../grammar/gbnf/paused-work.ts";
import { loopTurn } from "../../platform/loop-turn.ts";
import { type ApiError, invalidRequest } from "../api-error.ts";
import { JsonCuts } from "./json-cuts.ts";
import { JsonScan } from "./json-scan.ts";
import { JsonFault, jsonValue } from "./json-value.ts";

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The value of a whole JSON text. Throws the errors of JsonText. */
export function parseJson(bytes: Uint8Array): unknown {
  const text = new JsonText();
  text.push(bytes);
  return finished(text.value());
}

/** Bytes that are scanned and decoded in one slice of the event loop, which takes one to three milliseconds. */
export const SLICE_BYTES = 256 * 1024;

/** Like parseJson, but a long text is decoded, scanned and parsed in slices of the event loop. */
export async function parseJsonInSlices(bytes: Uint8Array): Promise<unknown> {
  const text = new JsonText();
  for (let at = 0; at < bytes.byteLength; at += SLICE_BYTES) {
    if (bytes.byteLength > SLICE_BYTES) await loopTurn();
    text.push(bytes.subarray(at, at + SLICE_BYTES));
  }
  return parsed(text, bytes.byteLength);
}

/** The value of a complete text of this many bytes. Each part of a long one is parsed in its own slice of the event loop. */
export async function parsed(text: JsonText, bytes: number): Promise<unknown> {
  const work = text.value();
  if (bytes <= SLICE_BYTES) return finished(work);
  for (;;) {
    await loopTurn();
    const { done, value } = work.next();
    if (!done) continue;
    // The caller's work on the value also begins in a new slice.
    await loopTurn();
    return value;
  }
}

/** Bytes that are collected and then decoded together. */
const DECODED_BYTES = 128 * 1024;

/**
 * A JSON text whose bytes arrive in pieces. Throws a 400 for a text that is not UTF-8, begins with a byte order mark,
 * exceeds JSON_BOUNDS, is not JSON, or has a NUL character or a lone surrogate, which JSON can write as escapes.
 */
export class JsonText {
  readonly #cuts = new JsonCuts();
  readonly #scan = new JsonScan(this.#cuts);
  #text = "";
  #chunks: Uint8Array[] = [];
  #size = 0;

  push(bytes: Uint8Array): void {
    this.#chunks.push(bytes);
    this.#size += bytes.byteLength;
    if (this.#size < DECODED_BYTES) return;
    const joined = this.#joined();
    const end = lastCharacterStart(joined);
    this.#add(decodeText(joined.subarray(0, end)));
    this.#chunks = [joined.subarray(end)];
    this.#size = joined.length - end;
  }

  /** Parses the complete text. */
  *value(): PausedWork<unknown> {
    this.#add(decodeText(this.#joined()));
    const text = this.#text;
    if (text === "") throw malformed("The request body is empty; send a JSON object.");
    this.#cuts.end(text.length);
    try {
      return yield* jsonValue(text, this.#cuts.cuts);
    } catch (error) {
      throw error instanceof JsonFault ? malformed(FAULTS[error.kind]) : error;
    }
  }

  #add(text: string): void {
    const tooMuch = this.#scan.push(text);
    if (tooMuch !== null) throw malformed(`The request body ${tooMuch}.`);
    this.#text += text;
  }

  #joined(): Uint8Array {
    return this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks, this.#size);
  }
}

/** Position of the last character, which may be incomplete (UTF-8 has at most three bytes after the first). */
function lastCharacterStart(bytes: Uint8Array): number {
  let at = bytes.length - 1;
  while (at > bytes.length - 4 && ((bytes[at] ?? 0) & 0xc0) === 0x80) at--;
  return at;
}

// Not the message of the parser: it quotes the body, which has the prompt.
const FAULTS: Record<JsonFault["kind"], string> = {
  syntax: "We could not parse the JSON body of your request.",
  text: "The request body has a string with a NUL character or a lone surrogate. Remove them.",
};

/** The text of UTF-8 bytes. Throws a 400 for others. */
export function decodeText(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch {
    throw malformed("The request body is not valid UTF-8.");
  }
}

function malformed(message: string): ApiError {
  return invalidRequest("invalid_json", null, message);
}
