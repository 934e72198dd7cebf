import type { EngineConfig, Pooling } from "../../config.ts";
import { DEFAULT_CONTEXT } from "./memory-plan.ts";
import type { Model } from "./model.ts";

/** Inputs that one piece may begin or go on with. */
export const MOST_INPUTS = 64;
/** llama.cpp has the logits of every token of an embedding context: so much memory bounds the tokens of a piece. */
const LOGITS_BYTES = 128 * 1024 * 1024;
const FLOAT_BYTES = 4;
const LEAST_TOKENS = 64;
/**
 * On a CPU inputs that share cells pay for each other: every token is held against all cells of the piece, and masked
 * afterwards. Past this nothing is gained (demo model: 4 inputs of 12 tokens 5 ms, 16 of them 28, 42 of them 111).
 */
const TOGETHER_ON_CPU = 64;
/** Attention over a whole input at once takes memory by the square of its length: longer ones must be asked for. */
const ENCODER_CONTEXT = 2048;
const CELL_PADDING = 256;
/** llama.cpp's architectures that keep no cells (llama_model::create_memory): every token sees all others. */
const ENCODERS = /bert|gemma-embedding/;

export interface EmbeddingShape {
  pooling: Pooling;
  /** Numbers in a vector. */
  width: number;
  vocabulary: number;
  trainedContext: number;
  /** Bytes of one token's keys and values over all layers. */
  cellBytes: number;
  /** Whether an input must be computed in one piece. */
  whole: boolean;
  /** Whether a GPU computes. */
  gpu: boolean;
}

export interface EmbeddingPlan {
  pooling: Pooling;
  width: number;
  whole: boolean;
  /** The longest input, in tokens. */
  context: number;
  /** Tokens that one input alone, and that several together, may have in one piece. */
  batchTokens: number;
  togetherTokens: number;
  cells: number;
  /** What it takes at most, once it is made: cells and logits. */
  bytes: number;
}

/**
 * The room for embeddings beside the generations of the same weights, worked out when the model is loaded and taken when
 * the first input comes. Where memory is short the longest input is shorter.
 *
 * @param freeBytes what is left for it
 * @returns null when not even a short input has room
 */
export function planEmbedding(
  config: Pick<EngineConfig, "context" | "stepTokens">,
  shape: EmbeddingShape,
  freeBytes: number,
): EmbeddingPlan | null {
  const { pooling, width, whole, trainedContext, vocabulary } = shape;
  // Where there is an output matrix, logits stand in the graph and in what they are copied to.
  const rowBytes = vocabulary * FLOAT_BYTES * (whole ? 1 : 2);
  const most = Math.max(LEAST_TOKENS, Math.floor(LOGITS_BYTES / rowBytes));
  const pieceTokens = Math.min(config.stepTokens, most);
  const togetherTokens = shape.gpu ? pieceTokens : Math.min(pieceTokens, TOGETHER_ON_CPU);
  if (whole) {
    const wanted = Math.min(config.context ?? ENCODER_CONTEXT, trainedContext);
    const context = Math.min(wanted, Math.floor(freeBytes / rowBytes));
    if (context < Math.min(wanted, LEAST_TOKENS)) return null;
    const batchTokens = Math.max(pieceTokens, context);
    const bytes = batchTokens * rowBytes;
    return { pooling, width, whole, context, batchTokens, togetherTokens, cells: pad(batchTokens), bytes };
  }
  const wanted = config.context ?? Math.min(trainedContext, DEFAULT_CONTEXT);
  const logitBytes = pieceTokens * rowBytes;
  const affordable = Math.floor((freeBytes - logitBytes) / shape.cellBytes);
  // Beside one long input that is computed piece by piece there is room for others.
  const cells = Math.min(pad(wanted + pieceTokens), affordable - (affordable % CELL_PADDING));
  const context = Math.min(wanted, cells - pieceTokens);
  if (context < Math.min(wanted, LEAST_TOKENS)) return null;
  const bytes = logitBytes + cells * shape.cellBytes;
  return { pooling, width, whole, context, batchTokens: pieceTokens, togetherTokens, cells, bytes };
}

/** What of a model decides how it embeds. One that generates pools by the mean: its file says nothing of it. */
export function embeddingShape(model: Model, cellBytes: number): EmbeddingShape {
  const pooling = model.pooling ?? "mean";
  const causal = model.metadata(`${model.architecture}.attention.causal`) !== "false";
  return {
    pooling,
    width: model.vectorWidth(pooling),
    vocabulary: model.vocabulary.size,
    trainedContext: model.trainedContext,
    cellBytes,
    whole: !causal || ENCODERS.test(model.architecture),
    gpu: model.devices.some((device) => device.kind === "gpu"),
  };
}

function pad(cells: number): number {
  return Math.ceil(cells / CELL_PADDING) * CELL_PADDING;
}
