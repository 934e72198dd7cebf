import { type FileHandle, open, rename, rm } from "node:fs/promises";

/** GGUF header values by their type in the file. */
export type GgufValue =
  | { type: "uint32"; value: number }
  | { type: "float32"; value: number }
  | { type: "bool"; value: boolean }
  | { type: "string"; value: string }
  | { type: "int32s"; value: number[] }
  | { type: "float32s"; value: number[] }
  | { type: "bytes"; value: Uint8Array }
  | { type: "strings"; value: string[] };

export type GgufKind = "f32" | "q8_0";

export interface GgufTensor {
  name: string;
  /** In ggml's order: the row length first. */
  dims: number[];
  kind: GgufKind;
  /** The bytes in order; a chunk may be overwritten once the next one is requested. */
  chunks: () => Iterable<Uint8Array>;
}

const VERSION = 3;
const ALIGNMENT = 32;
const VALUE = { uint8: 0, uint32: 4, int32: 5, float32: 6, bool: 7, string: 8, array: 9 };
const KIND = { f32: 0, q8_0: 8 };
/** A Q8_0 block: one f16 scale, then 32 signed bytes. */
export const Q8_0 = { values: 32, bytes: 34 };

/** Bytes of a tensor. Throws RangeError for a q8_0 tensor whose row length is not a multiple of 32. */
export function tensorBytes(dims: number[], kind: GgufKind): number {
  const values = dims.reduce((product, n) => product * n, 1);
  if (kind === "f32") return values * 4;
  if (dims[0]! % Q8_0.values !== 0) throw new RangeError(`rows of ${dims[0]} values do not divide into blocks of 32`);
  return (values / Q8_0.values) * Q8_0.bytes;
}

/**
 * Writes a GGUF v3 file tensor by tensor, with at most one chunk in memory. The file gets its name when it is complete.
 * `onBytes` reports the written bytes of the tensors. Layout: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
 */
export async function writeGguf(
  path: string,
  metadata: Record<string, GgufValue>,
  tensors: GgufTensor[],
  onBytes: (written: number, total: number) => void = () => {},
): Promise<number> {
  const sizes = tensors.map((tensor) => tensorBytes(tensor.dims, tensor.kind));
  const total = sizes.reduce((sum, size) => sum + size, 0);
  const head = padded(header(metadata, tensors, sizes));
  const part = `${path}.part`;
  const file = await open(part, "w");
  try {
    await write(file, head);
    let written = 0;
    for (const [i, tensor] of tensors.entries()) {
      let bytes = 0;
      for (const chunk of tensor.chunks()) {
        await write(file, chunk);
        bytes += chunk.byteLength;
        onBytes(written + bytes, total);
      }
      if (bytes !== sizes[i]) throw new RangeError(`${tensor.name}: ${bytes} bytes instead of ${sizes[i]}`);
      written += bytes;
      await write(file, new Uint8Array(padding(bytes)));
    }
    await file.close();
    await rename(part, path);
  } catch (error) {
    await file.close().catch(() => {});
    await rm(part, { force: true });
    throw error;
  }
  return head.byteLength + sizes.reduce((sum, size) => sum + size + padding(size), 0);
}

function header(metadata: Record<string, GgufValue>, tensors: GgufTensor[], sizes: number[]): Uint8Array {
  const entries = Object.entries(metadata);
  const parts = [Buffer.from("GGUF"), uint32(VERSION), uint64(tensors.length), uint64(entries.length)];
  for (const [key, value] of entries) parts.push(string(key), encode(value));
  let offset = 0;
  for (const [i, { name, dims, kind }] of tensors.entries()) {
    parts.push(string(name), uint32(dims.length), ...dims.map(uint64), uint32(KIND[kind]), uint64(offset));
    offset += sizes[i]! + padding(sizes[i]!);
  }
  return Buffer.concat(parts);
}

function encode(value: GgufValue): Buffer {
  switch (value.type) {
    case "uint32":
      return Buffer.concat([uint32(VALUE.uint32), uint32(value.value)]);
    case "float32": {
      const bytes = Buffer.alloc(8);
      bytes.writeUInt32LE(VALUE.float32, 0);
      bytes.writeFloatLE(value.value, 4);
      return bytes;
    }
    case "bool":
      return Buffer.concat([uint32(VALUE.bool), Buffer.from([value.value ? 1 : 0])]);
    case "string":
      return Buffer.concat([uint32(VALUE.string), string(value.value)]);
    case "int32s": {
      const items = Buffer.alloc(value.value.length * 4);
      for (const [i, item] of value.value.entries()) items.writeInt32LE(item, i * 4);
      return Buffer.concat([uint32(VALUE.array), uint32(VALUE.int32), uint64(value.value.length), items]);
    }
    case "float32s": {
      const items = Buffer.alloc(value.value.length * 4);
      for (const [i, item] of value.value.entries()) items.writeFloatLE(item, i * 4);
      return Buffer.concat([uint32(VALUE.array), uint32(VALUE.float32), uint64(value.value.length), items]);
    }
    case "bytes":
      return Buffer.concat([uint32(VALUE.array), uint32(VALUE.uint8), uint64(value.value.length), value.value]);
    case "strings": {
      const items = value.value.map(string);
      return Buffer.concat([uint32(VALUE.array), uint32(VALUE.string), uint64(items.length), ...items]);
    }
  }
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function uint64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}

function string(value: string): Buffer {
  const text = Buffer.from(value, "utf8");
  return Buffer.concat([uint64(text.byteLength), text]);
}

function padding(bytes: number): number {
  return -bytes & (ALIGNMENT - 1);
}

function padded(bytes: Uint8Array): Uint8Array {
  return Buffer.concat([bytes, new Uint8Array(padding(bytes.byteLength))]);
}

/** FileHandle.write may write fewer bytes than given. */
async function write(file: FileHandle, bytes: Uint8Array): Promise<void> {
  let done = 0;
  while (done < bytes.byteLength) done += (await file.write(bytes, done, bytes.byteLength - done)).bytesWritten;
}
