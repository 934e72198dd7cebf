import type { GgufKind, GgufValue } from "./gguf.ts";
import {
  attentionLayer,
  bertLayer,
  feedForward,
  gemmaLayer,
  type Layer,
  mambaLayer,
  type Sizes,
  shortConvolutionLayer,
} from "./layers.ts";
import type { TensorShape } from "./weights.ts";

/** A model shape: sizes, header entries and, in order, tensors. */
export interface Shape {
  architecture: string;
  kind: GgufKind;
  vocabulary: number;
  metadata: Record<string, GgufValue>;
  /** `unlikely` are tokens that should rarely be drawn. */
  tensors: (unlikely: number[]) => TensorShape[];
}

const EPSILON = 1e-5;
const TINY = { layers: 4, width: 64, heads: 4, kvHeads: 2, headWidth: 16, feedForward: 128, vocabulary: 512 };
const SMALL = { layers: 12, width: 384, heads: 6, kvHeads: 2, headWidth: 64, feedForward: 1024, vocabulary: 32_768 };
const TINY_CONTEXT = 4096;
const WINDOW = 32;
/** Standard deviation of the logits of a separate output matrix. */
const SPREAD = 4;
/** enum llama_pooling_type */
const POOLING_TYPE = { mean: 1, cls: 2, rank: 4 };

/**
 * Shapes by their name on the command line. There is one tiny shape per kind of memory in llama.cpp, and one with the
 * vocabulary of a large model.
 */
export const SHAPES: Record<string, () => Shape> = {
  "30m": () => llama(SMALL),
  "30m-hybrid": () => hybrid(SMALL, { tied: true, context: 32_768 }),
  "0.5b": () =>
    llama({ layers: 24, width: 896, heads: 14, kvHeads: 2, headWidth: 64, feedForward: 4864, vocabulary: 151_936 }),
  "1.5b": () =>
    llama({ layers: 28, width: 1536, heads: 12, kvHeads: 2, headWidth: 128, feedForward: 8960, vocabulary: 151_936 }),
  "8b": () =>
    llama(
      { layers: 32, width: 4096, heads: 32, kvHeads: 8, headWidth: 128, feedForward: 14_336, vocabulary: 151_936 },
      { tied: false },
    ),
  "tiny-full": () => llama(TINY, { kind: "f32", tied: false, context: TINY_CONTEXT }),
  "tiny-wide": () => llama({ ...TINY, vocabulary: 151_936 }, { tied: false, context: TINY_CONTEXT, spread: 8 }),
  "tiny-swa": () => tinySlidingWindow(),
  "tiny-recurrent": () => tinyRecurrent(),
  "tiny-hybrid": () => hybrid(TINY, { tied: false, context: TINY_CONTEXT }),
  "tiny-embedding": () => tinyEncoder("mean"),
  "tiny-embedding-cls": () => tinyEncoder("cls"),
  "tiny-ranking": () => tinyEncoder("rank"),
};

function llama(
  sizes: Sizes,
  { kind = "q8_0" as GgufKind, tied = true, context = 32_768, spread = SPREAD } = {},
): Shape {
  return {
    architecture: "llama",
    kind,
    vocabulary: sizes.vocabulary,
    metadata: {
      ...attentionMetadata("llama", sizes, context),
      "llama.rope.freq_base": { type: "float32", value: 1_000_000 },
      "llama.vocab_size": { type: "uint32", value: sizes.vocabulary },
    },
    tensors: (unlikely) => [
      ...embedding(sizes, { tied, spread }, unlikely),
      ...stack(sizes, (layer) => [...attentionLayer(layer), ...feedForward(layer)]),
    ],
  };
}

/** Gemma 3: two layers with a window of 32 tokens and one with full attention, twice. */
function tinySlidingWindow(): Shape {
  const sizes = { ...TINY, layers: 6 };
  return {
    architecture: "gemma3",
    kind: "f32",
    vocabulary: sizes.vocabulary,
    metadata: {
      ...attentionMetadata("gemma3", sizes, TINY_CONTEXT),
      "gemma3.attention.sliding_window": { type: "uint32", value: WINDOW },
      "gemma3.attention.sliding_window_pattern": { type: "uint32", value: 3 },
    },
    tensors: (unlikely) => [...embedding(sizes, { tied: false }, unlikely), ...stack(sizes, gemmaLayer)],
  };
}

/** Mamba: no attention. */
function tinyRecurrent(): Shape {
  const ssm = { inner: 2 * TINY.width, state: 8, kernel: 4, rank: 4 };
  const uint32s: Record<string, number> = {
    context_length: TINY_CONTEXT,
    embedding_length: TINY.width,
    block_count: TINY.layers,
    feed_forward_length: 0,
    "attention.head_count": 0,
    "ssm.conv_kernel": ssm.kernel,
    "ssm.inner_size": ssm.inner,
    "ssm.state_size": ssm.state,
    "ssm.time_step_rank": ssm.rank,
  };
  return {
    architecture: "mamba",
    kind: "f32",
    vocabulary: TINY.vocabulary,
    metadata: { ...numbers("mamba", uint32s), ...epsilon("mamba") },
    tensors: (unlikely) => [
      ...embedding(TINY, { tied: false }, unlikely),
      ...stack(TINY, (layer) => mambaLayer(layer, ssm)),
    ],
  };
}

/** LFM2: convolutions with a short state, alternating with attention. */
function hybrid(sizes: Sizes, { tied, context }: { tied: boolean; context: number }): Shape {
  const kernel = 3;
  const attends = (index: number) => index % 2 === 1;
  return {
    architecture: "lfm2",
    kind: "f32",
    vocabulary: sizes.vocabulary,
    metadata: {
      ...attentionMetadata("lfm2", sizes, context),
      "lfm2.attention.head_count_kv": {
        type: "int32s",
        value: Array.from({ length: sizes.layers }, (_, index) => (attends(index) ? sizes.kvHeads : 0)),
      },
      "lfm2.shortconv.l_cache": { type: "uint32", value: kernel },
      "lfm2.vocab_size": { type: "uint32", value: sizes.vocabulary },
    },
    tensors: (unlikely) => [
      ...embedding(sizes, { tied }, unlikely, "token_embd_norm.weight"),
      ...stack(sizes, (layer) => [
        ...(attends(layer.index) ? attentionLayer(layer, { normedHeads: true }) : shortConvolutionLayer(layer, kernel)),
        ...feedForward(layer),
      ]),
    ],
  };
}

/** BERT: bidirectional attention, with one vector or one score as output. */
function tinyEncoder(pooling: keyof typeof POOLING_TYPE): Shape {
  const context = 256;
  const { width, heads } = TINY;
  const uint32s = {
    context_length: context,
    embedding_length: width,
    block_count: TINY.layers,
    feed_forward_length: TINY.feedForward,
    "attention.head_count": heads,
    pooling_type: POOLING_TYPE[pooling],
  };
  return {
    architecture: "bert",
    kind: "f32",
    vocabulary: TINY.vocabulary,
    metadata: {
      ...numbers("bert", uint32s),
      "bert.attention.layer_norm_epsilon": { type: "float32", value: EPSILON },
      "bert.attention.causal": { type: "bool", value: false },
      "tokenizer.ggml.token_type_count": { type: "uint32", value: 1 },
    },
    tensors: () => [
      { name: "token_embd.weight", dims: [width, TINY.vocabulary], fill: { std: 0.5 } },
      { name: "position_embd.weight", dims: [width, context], fill: { std: 0.1 } },
      { name: "token_embd_norm.weight", dims: [width], fill: { constant: 1 } },
      { name: "token_embd_norm.bias", dims: [width], fill: { constant: 0 } },
      ...stack(TINY, bertLayer),
      ...(pooling === "rank"
        ? [{ name: "cls.output.weight", dims: [width, 1], fill: { std: 1 / Math.sqrt(width) } }]
        : []),
    ],
  };
}

/**
 * A tied matrix has small values, so that the layers outweigh the last token's own row and the text varies; a separate
 * output matrix has large values, so that the best two logits of a tiny model differ. Quiet rows keep the logits of
 * unlikely tokens near 0.
 */
function embedding(
  sizes: Sizes,
  { tied, spread = SPREAD }: { tied: boolean; spread?: number },
  unlikely: number[],
  normName = "output_norm.weight",
): TensorShape[] {
  const dims = [sizes.width, sizes.vocabulary];
  const norm = { name: normName, dims: [sizes.width], fill: { constant: 1 } };
  if (tied) return [{ name: "token_embd.weight", dims, fill: { std: 0.02, quiet: unlikely } }, norm];
  const std = spread / Math.sqrt(sizes.width);
  return [
    { name: "token_embd.weight", dims, fill: { std: 0.5 } },
    norm,
    { name: "output.weight", dims, fill: { std, quiet: unlikely } },
  ];
}

function stack(sizes: Sizes, tensors: (layer: Layer) => TensorShape[]): TensorShape[] {
  return Array.from({ length: sizes.layers }, (_, index) => tensors({ index, ...sizes })).flat();
}

function attentionMetadata(architecture: string, sizes: Sizes, context: number): Record<string, GgufValue> {
  const uint32s: Record<string, number> = {
    context_length: context,
    embedding_length: sizes.width,
    block_count: sizes.layers,
    feed_forward_length: sizes.feedForward,
    "attention.head_count": sizes.heads,
    "attention.head_count_kv": sizes.kvHeads,
    "attention.key_length": sizes.headWidth,
    "attention.value_length": sizes.headWidth,
    "rope.dimension_count": sizes.headWidth,
  };
  return { ...numbers(architecture, uint32s), ...epsilon(architecture) };
}

function epsilon(architecture: string): Record<string, GgufValue> {
  return { [`${architecture}.attention.layer_norm_rms_epsilon`]: { type: "float32", value: EPSILON } };
}

function numbers(architecture: string, values: Record<string, number>): Record<string, GgufValue> {
  const entries = Object.entries(values);
  return Object.fromEntries(entries.map(([key, value]) => [`${architecture}.${key}`, { type: "uint32", value }]));
}
