import type { Fill, TensorShape } from "./weights.ts";

export interface Sizes {
  layers: number;
  width: number;
  heads: number;
  kvHeads: number;
  headWidth: number;
  feedForward: number;
  vocabulary: number;
}

/** One layer of a model. Tensor names and sizes of each kind are those of llama.cpp's src/models/. */
export interface Layer extends Sizes {
  index: number;
}

/** A matrix that preserves the magnitude of its input. */
const matrix = (layer: Layer, name: string, input: number, output: number, gain = 1): TensorShape => ({
  name: `blk.${layer.index}.${name}.weight`,
  dims: [input, output],
  fill: { std: gain / Math.sqrt(input) },
});

/**
 * A matrix that ends a branch: the sum over all branches of the stack preserves the magnitude, as in GPT-2's
 * initialization.
 */
const closing = (layer: Layer, name: string, input: number): TensorShape =>
  matrix(layer, name, input, layer.width, 1 / Math.sqrt(2 * layer.layers));

const vector = (layer: Layer, name: string, length: number, fill: Fill = { constant: 1 }): TensorShape => ({
  name: `blk.${layer.index}.${name}`,
  dims: [length],
  fill,
});

export function attentionLayer(layer: Layer, { normedHeads = false } = {}): TensorShape[] {
  const { width, heads, kvHeads, headWidth } = layer;
  return [
    vector(layer, "attn_norm.weight", width),
    matrix(layer, "attn_q", width, heads * headWidth),
    matrix(layer, "attn_k", width, kvHeads * headWidth),
    matrix(layer, "attn_v", width, kvHeads * headWidth),
    closing(layer, "attn_output", heads * headWidth),
    ...(normedHeads
      ? [vector(layer, "attn_q_norm.weight", headWidth), vector(layer, "attn_k_norm.weight", headWidth)]
      : []),
  ];
}

/** BERT: no gate, and norms after the blocks instead of before them. */
export function bertLayer(layer: Layer): TensorShape[] {
  const { width, heads, headWidth } = layer;
  const norm = (name: string) => [
    vector(layer, `${name}.weight`, width),
    vector(layer, `${name}.bias`, width, { constant: 0 }),
  ];
  return [
    matrix(layer, "attn_q", width, heads * headWidth),
    matrix(layer, "attn_k", width, heads * headWidth),
    matrix(layer, "attn_v", width, heads * headWidth),
    closing(layer, "attn_output", heads * headWidth),
    ...norm("attn_output_norm"),
    matrix(layer, "ffn_up", width, layer.feedForward),
    closing(layer, "ffn_down", layer.feedForward),
    ...norm("layer_output_norm"),
  ];
}

export function feedForward(layer: Layer): TensorShape[] {
  return [
    vector(layer, "ffn_norm.weight", layer.width),
    matrix(layer, "ffn_gate", layer.width, layer.feedForward),
    matrix(layer, "ffn_up", layer.width, layer.feedForward),
    closing(layer, "ffn_down", layer.feedForward),
  ];
}

export function gemmaLayer(layer: Layer): TensorShape[] {
  return [
    ...attentionLayer(layer, { normedHeads: true }),
    vector(layer, "post_attention_norm.weight", layer.width),
    ...feedForward(layer),
    vector(layer, "post_ffw_norm.weight", layer.width),
  ];
}

export function shortConvolutionLayer(layer: Layer, kernel: number): TensorShape[] {
  return [
    vector(layer, "attn_norm.weight", layer.width),
    matrix(layer, "shortconv.conv", kernel, layer.width),
    matrix(layer, "shortconv.in_proj", layer.width, 3 * layer.width),
    matrix(layer, "shortconv.out_proj", layer.width, layer.width),
  ];
}

export function mambaLayer(
  layer: Layer,
  ssm: { inner: number; state: number; kernel: number; rank: number },
): TensorShape[] {
  const { inner, state, kernel, rank } = ssm;
  return [
    vector(layer, "attn_norm.weight", layer.width),
    matrix(layer, "ssm_in", layer.width, 2 * inner),
    matrix(layer, "ssm_conv1d", kernel, inner),
    vector(layer, "ssm_conv1d.bias", inner, { std: 0.1 }),
    matrix(layer, "ssm_x", inner, rank + 2 * state),
    matrix(layer, "ssm_dt", rank, inner),
    vector(layer, "ssm_dt.bias", inner, { from: -4, to: -1 }),
    // the state decays by exp(A·dt): A must be negative
    { name: `blk.${layer.index}.ssm_a`, dims: [state, inner], fill: { from: -state, to: -0.5 } },
    vector(layer, "ssm_d", inner),
    matrix(layer, "ssm_out", inner, layer.width),
  ];
}
