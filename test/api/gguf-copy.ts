import { readFileSync, writeFileSync } from "node:fs";

/** Bytes of GGUF's scalar types, by their number; strings (8) and arrays (9) are read separately. */
const SCALAR_BYTES: Record<number, number> = { 0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8 };
const UINT32 = 4;
const STRING = 8;
const ARRAY = 9;
const HEAD = 24;
const ALIGNMENT = 32;

/** Copies a GGUF file with another value of one of its texts, such as `tokenizer.chat_template`. */
export function copyGguf(from: string, to: string, key: string, text: string): void {
  copyChanged(from, to, { key, text }, {});
}

/** Copies a GGUF file with further numbers in its metadata, which must not have them yet, such as ids of tokens. */
export function copyWithNumbers(from: string, to: string, numbers: Readonly<Record<string, number>>): void {
  copyChanged(from, to, null, numbers);
}

function copyChanged(
  from: string,
  to: string,
  change: { key: string; text: string } | null,
  added: Readonly<Record<string, number>>,
): void {
  const file = readFileSync(from);
  const tensors = Number(file.readBigUInt64LE(8));
  const entries = Number(file.readBigUInt64LE(16));
  let at = HEAD;
  const parts: Buffer[] = [file.subarray(0, HEAD)];
  for (let i = 0; i < entries; i++) {
    const name = stringAt(file, at);
    const end = valueEnd(file, name.end + 4, file.readUInt32LE(name.end));
    if (name.text !== change?.key) parts.push(file.subarray(at, end));
    else parts.push(file.subarray(at, name.end + 4), lengthOf(change.text), Buffer.from(change.text));
    at = end;
  }
  for (const [key, value] of Object.entries(added)) parts.push(numberEntry(key, value));
  const infos = at;
  for (let i = 0; i < tensors; i++) {
    const name = stringAt(file, at);
    at = name.end + 4 + 8 * file.readUInt32LE(name.end) + 4 + 8;
  }
  parts.push(file.subarray(infos, at));
  const head = Buffer.concat(parts);
  head.writeBigUInt64LE(BigInt(entries + Object.keys(added).length), 16);
  // Tensors are found by their distance from the end of the head, which is padded.
  const data = file.subarray(Math.ceil(at / ALIGNMENT) * ALIGNMENT);
  writeFileSync(to, Buffer.concat([head, Buffer.alloc(-head.length & (ALIGNMENT - 1)), data]));
}

function stringAt(file: Buffer, at: number): { text: string; end: number } {
  const end = at + 8 + Number(file.readBigUInt64LE(at));
  return { text: file.toString("utf8", at + 8, end), end };
}

function valueEnd(file: Buffer, at: number, type: number): number {
  if (type === STRING) return stringAt(file, at).end;
  if (type !== ARRAY) return at + SCALAR_BYTES[type]!;
  const count = Number(file.readBigUInt64LE(at + 4));
  let end = at + 12;
  for (let i = 0; i < count; i++) end = valueEnd(file, end, file.readUInt32LE(at));
  return end;
}

function numberEntry(key: string, value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt32LE(UINT32, 0);
  bytes.writeUInt32LE(value, 4);
  return Buffer.concat([lengthOf(key), Buffer.from(key), bytes]);
}

function lengthOf(text: string): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(Buffer.byteLength(text)));
  return bytes;
}
