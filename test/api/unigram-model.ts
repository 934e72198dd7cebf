import { type GgufValue, writeGguf } from "../../bench/models/gguf.ts";
import { SHAPES } from "../../bench/models/shapes.ts";
import { randomTensor } from "../../bench/models/weights.ts";

/** U+FDFA, three bytes, which XLM-R's tokenizer too reads as several words. */
export const LIGATURE = "\uFDFA";
const WORDS = ["a", "b", "c", "d", "e", "f"];
const TOKEN = { normal: 1, unknown: 2, control: 3 };

/** Writes a tiny embedding model with a unigram vocabulary that normalizes one character to six words. */
export async function writeUnigramModel(path: string): Promise<void> {
  const shape = SHAPES["tiny-embedding"]!();
  const tokens = ["<s>", "<pad>", "</s>", "<unk>", ...WORDS.map((word) => `\u2581${word}`)];
  while (tokens.length < shape.vocabulary) tokens.push(`\u2581other${tokens.length}`);
  const types = tokens.map((_, id) => (id === 3 ? TOKEN.unknown : id < 4 ? TOKEN.control : TOKEN.normal));
  const metadata: Record<string, GgufValue> = {
    "general.architecture": { type: "string", value: shape.architecture },
    ...shape.metadata,
    "tokenizer.ggml.model": { type: "string", value: "t5" },
    "tokenizer.ggml.tokens": { type: "strings", value: tokens },
    "tokenizer.ggml.scores": { type: "float32s", value: tokens.map(() => -1) },
    "tokenizer.ggml.token_type": { type: "int32s", value: types },
    "tokenizer.ggml.bos_token_id": { type: "uint32", value: 0 },
    "tokenizer.ggml.eos_token_id": { type: "uint32", value: 2 },
    "tokenizer.ggml.unknown_token_id": { type: "uint32", value: 3 },
    "tokenizer.ggml.padding_token_id": { type: "uint32", value: 1 },
    "tokenizer.ggml.add_bos_token": { type: "bool", value: true },
    "tokenizer.ggml.add_eos_token": { type: "bool", value: true },
    "tokenizer.ggml.add_space_prefix": { type: "bool", value: true },
    "tokenizer.ggml.precompiled_charsmap": { type: "bytes", value: charsmap(LIGATURE, ` ${WORDS.join(" ")}`) },
  };
  const tensors = shape.tensors([]).map((tensor, stream) => {
    return randomTensor(tensor, tensor.dims.length === 1 ? "f32" : shape.kind, 1, stream);
  });
  await writeGguf(path, metadata, tensors);
}

/**
 * SentencePiece's precompiled map of one text of three bytes to another: the bytes of a trie, the trie as an XOR-compressed
 * double array, and the target texts. A node has its byte in the lowest 8 bits, bit 8 where a text ends, and from bit 10 on
 * the base of its children's positions.
 */
function charsmap(from: string, to: string): Uint8Array {
  const [first, second, third] = Buffer.from(from) as unknown as [number, number, number];
  const nodes = new Uint32Array(1024);
  const bases = [0x100, 0x200, 0x300];
  const places = [bases[0]! ^ first, bases[1]! ^ second, bases[2]! ^ third] as const;
  const value = 1;
  nodes[0] = bases[0]! << 10;
  nodes[places[0]] = ((places[0] ^ bases[1]!) << 10) | first;
  nodes[places[1]] = ((places[1] ^ bases[2]!) << 10) | second;
  nodes[places[2]] = ((places[2] ^ value) << 10) | 0x100 | third;
  nodes[value] = 0;
  return Buffer.concat([new Uint32Array([nodes.byteLength]), nodes, Buffer.from(`${to}\0`)].map(bytesOf));
}

function bytesOf(array: Uint8Array | Uint32Array): Buffer {
  return Buffer.from(array.buffer, array.byteOffset, array.byteLength);
}
