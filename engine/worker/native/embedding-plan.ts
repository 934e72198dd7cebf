import { DEFAULT_CONTEXT, type EngineConfig, type Pooling } from "../../protocol/config.ts";
import { flashAttention } from "./flash-attention.ts";
import { cellsWithin, type MemoryFacts } from "./memory-plan.ts";
import type { Model } from "./model.ts";

/**
 * Inputs that one piece may begin or go on with. The most tokens of a piece are a multiple of it: llama.cpp reserves a graph
 * of as many tokens for every sequence, rounds up, and where it pools it then aborts the process over the difference.
 */
export const MOST_INPUTS = 64;
/** llama.cpp has the logits of every token of an embedding context: so much memory bounds the tokens of a piece. */
const LOGITS_BYTES = 128 * 1024 * 1024;
const FLOAT_BYTES = 4;
const LEAST_TOKENS = MOST_INPUTS;
/**
 * On a CPU inputs that share cells pay for each other: without flash attention every token is held against all cells of
 * the piece, and masked afterwards; with it only what is masked in blocks is passed over. llama.cpp rounds the cells that
 * it looks at up to 256; past these tokens nothing is gained.
 */
const TOGETHER_ON_CPU = { flash: 256, plain: 64 };
/** The same beside streams, which wait for every piece: the smallest that has most of the gain. */
const BESIDE_ON_CPU = 96;
/**
 * Rows from which llama.cpp's CPU kernel of flash attention works in tiles. Heads that are too small for it to pay with
 * fewer rows gain from then on (64 inputs of 12 tokens on the demo model, one thread: 44 ms without, 26 ms with it in pieces
 * of 192 tokens; but an input of 40 tokens alone 2.3 ms without and 3.4 ms with it).
 */
const FLASH_TILE = MOST_INPUTS;
/** Attention over a whole input at once takes memory by the square of its length: longer ones must be asked for. */
const ENCODER_CONTEXT = 2048;
const CELL_PADDING = 256;
/** llama.cpp's architectures that keep no cells (llama_model::create_memory): every token sees all others. */
const ENCODERS = /bert|gemma-embedding/;

/**
 * Whether pieces are computed with flash attention: where heads are small it pays on a CPU from a tile of tokens on alone
 * (FLASH_TILE).
 */
export type FlashUse = "always" | "tiles" | "never";

export interface EmbeddingShape {
  pooling: Pooling;
  /** Numbers in a vector. */
  width: number;
  vocabulary: number;
  trainedContext: number;
  /** Bytes of one token's keys and values over all layers. */
  cellBytes: number;
  /** Bytes of one sequence's state over all recurrent layers. */
  stateBytes: number;
  /** Whether an input must be computed in one piece. */
  whole: boolean;
  /** Whether a GPU computes. */
  gpu: boolean;
  flash: FlashUse;
}

/** What one llama_context for embeddings is made with. */
export interface EmbeddingRoom {
  cells: number;
  /** Most tokens of one piece. */
  tokens: number;
  flashAttention: EngineConfig["flashAttention"];
}

export interface EmbeddingPlan {
  pooling: Pooling;
  width: number;
  whole: boolean;
  /** The longest input, in tokens. */
  context: number;
  /** Tokens that one input alone, that several together, and that several beside streams may have in one piece. */
  batchTokens: number;
  togetherTokens: number;
  besideTokens: number;
  cells: number;
  /** Whose pieces of fewer tokens than a tile are computed apart, without flash attention; else null. */
  few: EmbeddingRoom | null;
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
  const most = Math.min(config.stepTokens, Math.floor(LOGITS_BYTES / rowBytes));
  const pieceTokens = Math.max(LEAST_TOKENS, most - (most % MOST_INPUTS));
  const shared = shape.flash === "never" ? TOGETHER_ON_CPU.plain : TOGETHER_ON_CPU.flash;
  const togetherTokens = shape.gpu ? pieceTokens : Math.min(pieceTokens, shared);
  const besideTokens = shape.gpu ? pieceTokens : Math.min(togetherTokens, BESIDE_ON_CPU);
  const few: EmbeddingRoom | null =
    shape.flash === "tiles" ? { cells: CELL_PADDING, tokens: FLASH_TILE, flashAttention: "off" } : null;
  const states = MOST_INPUTS * shape.stateBytes;
  const fewBytes = few === null ? 0 : few.tokens * rowBytes + (whole ? 0 : few.cells * shape.cellBytes + states);
  const free = freeBytes - fewBytes;
  const fixed = { pooling, width, whole, togetherTokens, besideTokens, few };
  if (whole) {
    const wanted = Math.min(config.context ?? ENCODER_CONTEXT, trainedContext);
    const context = Math.min(wanted, Math.floor(free / rowBytes));
    if (context < Math.min(wanted, LEAST_TOKENS)) return null;
    const batchTokens = Math.max(pieceTokens, pad(context, MOST_INPUTS));
    return { ...fixed, context, batchTokens, cells: pad(batchTokens), bytes: fewBytes + batchTokens * rowBytes };
  }
  const wanted = config.context ?? Math.min(trainedContext, DEFAULT_CONTEXT);
  const logitBytes = pieceTokens * rowBytes;
  const affordable = cellsWithin(free - logitBytes - states, shape.cellBytes);
  // Beside one long input that is computed piece by piece there is room for others.
  const cells = Math.min(pad(wanted + pieceTokens), affordable);
  const context = Math.min(wanted, cells - pieceTokens);
  if (context < Math.min(wanted, LEAST_TOKENS)) return null;
  const bytes = fewBytes + logitBytes + cells * shape.cellBytes + states;
  return { ...fixed, context, batchTokens: pieceTokens, cells, bytes };
}

/** What embeddings take where memory is not short. */
export function wantedBytes(config: Pick<EngineConfig, "context" | "stepTokens">, shape: EmbeddingShape): number {
  return planEmbedding(config, shape, Number.MAX_SAFE_INTEGER)?.bytes ?? 0;
}

/** What of a model decides how it embeds. One that generates pools by the mean: its file says nothing of it. */
export function embeddingShape(
  model: Model,
  config: EngineConfig,
  { cellBytes, stateBytes }: Pick<MemoryFacts, "cellBytes" | "stateBytes">,
): EmbeddingShape {
  const pooling = model.pooling ?? "mean";
  const causal = model.metadata(`${model.architecture}.attention.causal`) !== "false";
  return {
    pooling,
    width: model.vectorWidth(pooling),
    vocabulary: model.vocabulary.size,
    trainedContext: model.trainedContext,
    cellBytes,
    stateBytes,
    whole: !causal || ENCODERS.test(model.architecture),
    gpu: model.devices.some((device) => device.kind === "gpu"),
    flash: flashUse(model, config),
  };
}

function flashUse(model: Model, config: EngineConfig): FlashUse {
  if (config.flashAttention === "off") return "never";
  // What is off of itself for decodes, which have few rows, pays for pieces with many.
  return flashAttention(config, model) === "off" ? "tiles" : "always";
}

function pad(count: number, multiple = CELL_PADDING): number {
  return Math.ceil(count / multiple) * multiple;
}
