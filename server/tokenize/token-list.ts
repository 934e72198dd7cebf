import { setImmediate as rest } from "node:timers/promises";
import type { TokenPieces } from "../../engine/protocol/tokenize.ts";

/** Items that are written before other clients get their turn: some 5 ms. */
const WRITTEN_AT_ONCE = 16_384;

/** The items of a list as JSON, `count` of them. A million of them is a second of writing: streams get their turns in between. */
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

/** The text of all tokens together. */
export function wholeText({ bytes }: TokenPieces): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();
}
