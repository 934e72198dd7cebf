import { type FileHandle, open } from "node:fs/promises";

/** Null stands for a list, where lists were not asked for. */
export type MetadataValue = string | number | boolean | null | (string | number | boolean)[];

/** Bytes of one read; the event loop has a turn at each. */
const CHUNK_BYTES = 256 * 1024;
/** Bytes of one text at most; chat templates have tens of thousands. */
const MAX_TEXT_BYTES = 4 * 1024 * 1024;
/** Bytes of all metadata at most: vocabularies of 300,000 tokens with their merges have 20 MB. */
const MAX_BYTES = 64 * 1024 * 1024;
/** Keys, and items of one list, at most. */
const MAX_KEYS = 65_536;
const MAX_ITEMS = 4 * 1024 * 1024;
const STRING = 8;
const ARRAY = 9;

type Scalar = string | number | boolean;

/** Readers of scalars of fixed size, by their number in GGUF. */
const SCALARS: Readonly<Record<number, { bytes: number; read: (from: Buffer) => Scalar }>> = {
  0: { bytes: 1, read: (from) => from.readUInt8() },
  1: { bytes: 1, read: (from) => from.readInt8() },
  2: { bytes: 2, read: (from) => from.readUInt16LE() },
  3: { bytes: 2, read: (from) => from.readInt16LE() },
  4: { bytes: 4, read: (from) => from.readUInt32LE() },
  5: { bytes: 4, read: (from) => from.readInt32LE() },
  6: { bytes: 4, read: (from) => shortest(from.readFloatLE()) },
  7: { bytes: 1, read: (from) => from.readUInt8() !== 0 },
  10: { bytes: 8, read: (from) => Number(from.readBigUInt64LE()) },
  11: { bytes: 8, read: (from) => Number(from.readBigInt64LE()) },
  12: { bytes: 8, read: (from) => from.readDoubleLE() },
};

/**
 * The metadata of a GGUF file that llama.cpp has loaded. Throws an Error where the file has changed to one that is not valid,
 * or has more metadata than any model.
 *
 * @param lists whether lists are read, which have the vocabulary; where not they are null
 */
export async function ggufMetadata(path: string, lists: boolean): Promise<Record<string, MetadataValue>> {
  const file = await open(path);
  try {
    const bytes = new FileBytes(file);
    const head = await bytes.take(24);
    if (head.toString("latin1", 0, 4) !== "GGUF" || ![2, 3].includes(head.readUInt32LE(4))) {
      throw new Error("The file is not in GGUF format, version 2 or 3.");
    }
    const count = Number(head.readBigUInt64LE(16));
    if (count > MAX_KEYS) throw new Error("The metadata has too many keys.");
    const metadata: [string, MetadataValue][] = [];
    for (let i = 0; i < count; i++) metadata.push([await text(bytes), await value(bytes, lists)]);
    return Object.fromEntries(metadata);
  } finally {
    await file.close();
  }
}

async function value(bytes: FileBytes, lists: boolean): Promise<MetadataValue> {
  const type = (await bytes.take(4)).readUInt32LE();
  if (type !== ARRAY) return scalar(bytes, type);
  const head = await bytes.take(12);
  const [itemType, count] = [head.readUInt32LE(), Number(head.readBigUInt64LE(4))];
  if (count > MAX_ITEMS) throw new Error("The metadata has a list that is too long.");
  if (!lists) {
    await skip(bytes, itemType, count);
    return null;
  }
  const items: Scalar[] = [];
  for (let i = 0; i < count; i++) items.push(await scalar(bytes, itemType));
  return items;
}

async function scalar(bytes: FileBytes, type: number): Promise<Scalar> {
  if (type === STRING) return text(bytes);
  const { bytes: size, read } = scalarOf(type);
  return read(await bytes.take(size));
}

async function skip(bytes: FileBytes, type: number, count: number): Promise<void> {
  if (type !== STRING) return bytes.skip(count * scalarOf(type).bytes);
  for (let i = 0; i < count; i++) bytes.skip(await textBytes(bytes));
}

async function text(bytes: FileBytes): Promise<string> {
  return (await bytes.take(await textBytes(bytes))).toString("utf8");
}

async function textBytes(bytes: FileBytes): Promise<number> {
  return Number((await bytes.take(8)).readBigUInt64LE());
}

function scalarOf(type: number) {
  const found = SCALARS[type];
  if (found === undefined) throw new Error(`The metadata has a value of the unknown type ${type}.`);
  return found;
}

/** The shortest decimal number that is this one in 32 bits: 0.00001 in place of 0.000009999999747378752. */
function shortest(number: number): number {
  for (let digits = 6; digits < 9; digits++) {
    const rounded = Number(number.toPrecision(digits));
    if (Math.fround(rounded) === number) return rounded;
  }
  return number;
}

/** The bytes of a file from its beginning, in chunks. */
class FileBytes {
  readonly #file: FileHandle;
  #chunk: Buffer = Buffer.alloc(0);
  /** The first byte of the chunk that was not taken; it may lie behind the chunk. */
  #at = 0;
  /** The first byte of the file behind the chunk. */
  #read = 0;

  constructor(file: FileHandle) {
    this.#file = file;
  }

  async take(count: number): Promise<Buffer> {
    if (count > MAX_TEXT_BYTES) throw new Error("The metadata has a text that is too long.");
    while (this.#chunk.length - this.#at < count) await this.#more();
    const from = this.#at;
    this.#at += count;
    return this.#chunk.subarray(from, this.#at);
  }

  skip(count: number): void {
    this.#at += count;
  }

  async #more(): Promise<void> {
    // Bytes that are skipped behind the chunk are not read.
    const rest = this.#chunk.subarray(Math.min(this.#at, this.#chunk.length));
    this.#read += Math.max(0, this.#at - this.#chunk.length);
    this.#at = 0;
    if (this.#read > MAX_BYTES) throw new Error("The metadata is too long.");
    const { bytesRead, buffer } = await this.#file.read(Buffer.alloc(CHUNK_BYTES), 0, CHUNK_BYTES, this.#read);
    if (bytesRead === 0) throw new Error("The metadata is cut off.");
    this.#read += bytesRead;
    this.#chunk = Buffer.concat([rest, buffer.subarray(0, bytesRead)]);
  }
}
