import { Random } from "../base/random.ts";
import { type GgufKind, type GgufTensor, Q8_0, tensorBytes } from "./gguf.ts";

/** The distribution of a tensor's values. */
export type Fill =
  /** Uniform around 0 with this standard deviation; rows in `quiet` have 1/64 of it. */
  { std: number; quiet?: number[] } | { from: number; to: number } | { constant: number };

export interface TensorShape {
  name: string;
  /** The row length first. */
  dims: number[];
  fill: Fill;
}

const CHUNK_BYTES = 1 << 20;
const QUIET = 1 / 64;
/** Standard deviation of a signed byte that is uniform over its 256 values. */
const BYTE_STD = Math.sqrt((256 ** 2 - 1) / 12);

/**
 * The tensor's random bytes, drawn from `seed` and `stream`: the same pair gives the same bytes. A q8_0 block is 32
 * random bytes with the scale that gives the deviation of `fill`.
 */
export function randomTensor(shape: TensorShape, kind: GgufKind, seed: number, stream: number): GgufTensor {
  const { name, dims, fill } = shape;
  const size = tensorBytes(dims, kind);
  if (kind === "f32") return { name, dims, kind, chunks: () => [floats(size / 4, dims[0]!, fill, seed, stream)] };
  if (!("std" in fill)) throw new RangeError(`${name}: only fills with a standard deviation can be quantized`);
  return { name, dims, kind, chunks: () => blocks(size, dims[0]!, fill, seed, stream) };
}

function* blocks(
  size: number,
  rowLength: number,
  fill: { std: number; quiet?: number[] },
  seed: number,
  stream: number,
) {
  const random = new Random(seed, stream);
  const rowBlocks = rowLength / Q8_0.values;
  const scale = half(fill.std / BYTE_STD);
  const quietScale = half((fill.std * QUIET) / BYTE_STD);
  const quiet = new Set(fill.quiet);
  // two blocks are the least that fills whole words; a tensor's last chunk is cut to the rest
  const chunkBlocks = 2 * Math.floor(CHUNK_BYTES / (2 * Q8_0.bytes));
  const words = new Int32Array((chunkBlocks * Q8_0.bytes) / 4);
  const halves = new Uint16Array(words.buffer);
  const bytes = new Uint8Array(words.buffer);
  const total = size / Q8_0.bytes;
  for (let first = 0; first < total; first += chunkBlocks) {
    const count = Math.min(chunkBlocks, total - first);
    random.fill(words);
    for (let i = 0; i < count; i++) {
      const loud = quiet.size === 0 || !quiet.has(Math.floor((first + i) / rowBlocks));
      halves[(i * Q8_0.bytes) / 2] = loud ? scale : quietScale;
    }
    yield bytes.subarray(0, count * Q8_0.bytes);
  }
}

/** Float tensors are vectors, or matrices of the tiny test models, and fit into one chunk. */
function floats(count: number, rowLength: number, fill: Fill, seed: number, stream: number): Uint8Array {
  const values = new Float32Array(count);
  if ("constant" in fill) {
    values.fill(fill.constant);
  } else {
    const words = new Int32Array(count);
    new Random(seed, stream).fill(words);
    const [from, to] = "std" in fill ? [-fill.std * Math.sqrt(3), fill.std * Math.sqrt(3)] : [fill.from, fill.to];
    const quiet = new Set("std" in fill ? fill.quiet : []);
    for (let i = 0; i < count; i++) {
      const value = from + ((words[i]! >>> 0) / 2 ** 32) * (to - from);
      values[i] = quiet.has(Math.floor(i / rowLength)) ? value * QUIET : value;
    }
  }
  return new Uint8Array(values.buffer);
}

/** A positive number below 65,504 as IEEE 754 half precision, truncated. */
export function half(value: number): number {
  if (value < 2 ** -14) return Math.floor(value * 2 ** 24);
  const exponent = Math.floor(Math.log2(value));
  return ((exponent + 15) << 10) + Math.floor((value / 2 ** exponent - 1) * 1024);
}
