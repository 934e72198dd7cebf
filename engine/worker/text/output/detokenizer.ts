import { TextDecoder } from "node:util";

/**
 * One sequence's bytes to text. A character whose bytes come with several tokens appears with the last of them. Bytes that
 * are not UTF-8 become U+FFFD, as in WHATWG's decoder; a byte order mark stays text.
 */
export class Detokenizer {
  /** Null before the first byte that is not ASCII: most sequences of English or code never need a decoder. */
  #decoder: TextDecoder | null = null;
  /** True while the decoder may hold the beginning of a character. */
  #holding = false;

  /** The text that became certain with these bytes; "" while a character is incomplete. */
  push(bytes: Uint8Array): string {
    const ascii = asciiText(bytes);
    if (ascii !== null && !this.#holding) return ascii;
    this.#decoder ??= new TextDecoder("utf-8", { ignoreBOM: true });
    // An ASCII byte ends an incomplete character, so that the decoder holds nothing after an ASCII piece.
    this.#holding = ascii === null || ascii === "";
    return this.#decoder.decode(bytes, { stream: true });
  }

  /** At the end: U+FFFD for a character that never became complete. */
  flush(): string {
    if (!this.#holding || this.#decoder === null) return "";
    this.#holding = false;
    return this.#decoder.decode();
  }
}

/** A token's piece is a few bytes: this loop costs less than a call into the decoder. */
function asciiText(bytes: Uint8Array): string | null {
  let text = "";
  for (let index = 0; index < bytes.length; index += 1) {
    const byte = bytes[index]!;
    if (byte >= 0x80) return null;
    text += String.fromCharCode(byte);
  }
  return text;
}
