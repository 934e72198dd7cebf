import { setImmediate as rest } from "node:timers/promises";
import type { TokenPieces } from "../../engine/protocol/tokenize.ts";

/** Items written in one slice of the event loop: some 5 ms. */
const WRITTEN_AT_ONCE = 16_384;

/** The `count` items of a list as JSON. Writing a million takes a second, in slices of the event loop. */
export async function listText(count: number, item: (index: number) => string): Promise<string> {
  let text = "";
  for (let first = 0; first < count; first += WRITTEN_AT_ONCE) {
    const length = Math.min(WRITTEN_AT_ONCE, count - first);
    if (first > 0) {
      text += ",";
      await rest();
    }
    text += Array.from({ length }, (_, i) => item(first + i)).join(",");
  }
  return text;
}

/** The bytes of the token at this index. */
export function pieceAt({ bytes, ends }: TokenPieces, index: number): Buffer {
  const start = index === 0 ? 0 : ends[index - 1]!;
  return Buffer.from(bytes.buffer, bytes.byteOffset + start, ends[index]! - start);
}

/** The text of all tokens. */
export function wholeText({ bytes }: TokenPieces): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();
}
