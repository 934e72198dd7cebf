import { type EngineConfig, type Pooling, USUAL_CONTEXT } from "../../protocol/config.ts";
import { flashAttention } from "./flash-attention.ts";
import { cellsWithin, type MemoryFacts } from "./memory-plan.ts";
import type { Model } from "./model.ts";

/**
 * Inputs of one embedding batch. The most tokens of a batch are a multiple of it: llama.cpp reserves a graph of equally many
 * tokens for every sequence, rounds up, and where it pools it then aborts the process over the difference.
 */
export const MOST_INPUTS = 64;
/** Bytes of logits, which bound the tokens of a batch: llama.cpp allocates them for every token of an embedding context. */
const LOGITS_BYTES = 128 * 1024 * 1024;
const FLOAT_BYTES = 4;
const LEAST_TOKENS = MOST_INPUTS;
/**
 * Tokens of a batch of several inputs on a CPU, where inputs that share cells slow each other down: without flash attention
 * every token attends to all cells of the batch and is masked afterwards; with it only fully masked blocks are skipped.
 * llama.cpp rounds the cells of a pass up to 256; more tokens than these bring no gain.
 */
const TOGETHER_ON_CPU = { flash: 256, plain: 64 };
/** The same beside streams, which wait for every batch: the smallest number with most of the gain. */
const BESIDE_ON_CPU = 96;
/**
 * Rows from which llama.cpp's CPU kernel of flash attention works in tiles. Small heads, which are slower with it for fewer
 * rows, gain from then on (64 inputs of 12 tokens on the demo model, one thread: 44 ms without, 26 ms with it in batches of 192
 * tokens; but an input of 40 tokens alone 2.3 ms without and 3.4 ms with it).
 */
const FLASH_TILE = MOST_INPUTS;
/** Default context of an encoder, in tokens: attention over a whole input takes memory by the square of its length. */
const ENCODER_CONTEXT = 2048;
const CELL_PADDING = 256;
/** llama.cpp's architectures without cells (llama_model::create_memory): every token attends to all others. */
const ENCODERS = /bert|gemma-embedding/;

/**
 * Whether embedding batches use flash attention: with small heads on a CPU it is faster only from a tile of tokens on (FLASH_TILE).
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
  /** True when an input must be computed in one batch. */
  whole: boolean;
  /** True when a GPU computes. */
  gpu: boolean;
  flash: FlashUse;
}

/** The sizes of one llama_context for embeddings. */
export interface EmbeddingRoom {
  cells: number;
  /** Most tokens of one batch. */
  tokens: number;
  flashAttention: EngineConfig["flashAttention"];
}

export interface EmbeddingPlan {
  pooling: Pooling;
  width: number;
  whole: boolean;
  /** The longest input, in tokens. */
  context: number;
  /** Most tokens of one batch: of one input alone, of several together, and of several beside streams. */
  batchTokens: number;
  togetherTokens: number;
  besideTokens: number;
  cells: number;
  /** A context without flash attention for batches of fewer tokens than a tile; null where none is needed. */
  few: EmbeddingRoom | null;
  /** Most bytes of its cells and logits. */
  bytes: number;
}

/**
 * Plans the memory of embeddings beside generation with the same weights, at the model's load; it is allocated for the first
 * input. Where memory is short the longest input is shorter.
 *
 * @param freeBytes memory left for embeddings
 * @returns null when there is no memory even for a short input
 */
export function planEmbedding(
  config: Pick<EngineConfig, "context" | "stepTokens">,
  shape: EmbeddingShape,
  freeBytes: number,
): EmbeddingPlan | null {
  const { pooling, width, whole, trainedContext, vocabulary } = shape;
  // With an output matrix, logits take memory in the graph and in the buffer that they are copied to.
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
  const wanted = config.context ?? Math.min(trainedContext, USUAL_CONTEXT);
  const logitBytes = pieceTokens * rowBytes;
  const affordable = cellsWithin(free - logitBytes - states, shape.cellBytes);
  // Beside one long input, computed in several batches, there are cells for others.
  const cells = Math.min(pad(wanted + pieceTokens), affordable);
  const context = Math.min(wanted, cells - pieceTokens);
  if (context < Math.min(wanted, LEAST_TOKENS)) return null;
  const bytes = fewBytes + logitBytes + cells * shape.cellBytes + states;
  return { ...fixed, context, batchTokens: pieceTokens, cells, bytes };
}

/** Bytes that embeddings take where memory is not short. */
export function wantedBytes(config: Pick<EngineConfig, "context" | "stepTokens">, shape: EmbeddingShape): number {
  return planEmbedding(config, shape, Number.MAX_SAFE_INTEGER)?.bytes ?? 0;
}

/** The properties of a model that decide how it embeds. A generating model pools by the mean: its file names no pooling. */
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
  // Where it is off for decodes, which have few rows, it is faster for batches with many.
  return flashAttention(config, model) === "off" ? "tiles" : "always";
}

function pad(count: number, multiple = CELL_PADDING): number {
  return Math.ceil(count / multiple) * multiple;
}
