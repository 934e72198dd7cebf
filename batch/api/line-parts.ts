/** Bytes that are written and hashed at a time. */
const PART_BYTES = 256 * 1024;
const LINE_BREAK = Buffer.from("\n");

/** A line with its break, in parts, because each part is hashed in one turn of the event loop. */
export async function* lineParts(line: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < line.byteLength; at += PART_BYTES) yield line.subarray(at, at + PART_BYTES);
  yield LINE_BREAK;
}
