import type { CodePoints } from "./code-points.ts";

/** A range of bytes, both ends inclusive. */
type ByteRange = readonly [from: number, to: number];

/** The last code point of each length in UTF-8 (RFC 3629, 3). */
const LAST_OF_LENGTH = [0x7f, 0x7ff, 0xffff, 0x10ffff];

/** A set of characters in UTF-8: each entry has a range for the first byte, one for the second, and so on. */
export function utf8Sequences(set: CodePoints): ByteRange[][] {
  const sequences: ByteRange[][] = [];
  for (const [from, to] of set.ranges) {
    let low = from;
    for (const last of LAST_OF_LENGTH) {
      if (low > to || low > last) continue;
      split(low, Math.min(to, last), sequences);
      low = last + 1;
    }
  }
  return sequences;
}

/** Splits a range of one length until the bytes after the first different one span all their values. */
function split(from: number, to: number, into: ByteRange[][]): void {
  for (let bits = 6; bits <= 18; bits += 6) {
    const mask = (1 << bits) - 1;
    if (from >> bits === to >> bits) continue;
    if (to < 0x80) break;
    if ((from & mask) !== 0) {
      split(from, from | mask, into);
      split((from | mask) + 1, to, into);
      return;
    }
    if ((to & mask) !== mask) {
      split(from, (to & ~mask) - 1, into);
      split(to & ~mask, to, into);
      return;
    }
  }
  const [low, high] = [encoded(from), encoded(to)];
  into.push([...low].map((byte, i): ByteRange => [byte, high[i]!]));
}

function encoded(point: number): Uint8Array {
  return new TextEncoder().encode(String.fromCodePoint(point));
}
