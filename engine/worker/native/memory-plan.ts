import {
  type EngineConfig,
  type KvKind,
  type LocalFacts,
  type ModelNeeds,
  USUAL_CONTEXT,
} from "../../protocol/config.ts";

/** llama.cpp's limit on sequence ids in one context (LLAMA_MAX_SEQ). */
export const MOST_IDS = 256;
/** Cells that llama.cpp rounds a sequence's cells up to. */
const CELL_PADDING = 256;
/** Bytes kept free beside weights and cache for compute buffers and other processes. */
export const SLACK_BYTES = 256 * 1024 * 1024;
/** Tokens of the first requests of coding agents (8,000 to 20,000), with room for an answer. */
const AGENT_CONTEXT = 24_576;
/** The longest context of a split cache that was not asked for. */
const LONGEST_SPLIT = 32_768;
/** Ids for prefixes that sequences share where each id has a state. */
const SHARED_STATES = 2;
/** The share of the free memory for the cache, without a limit. */
const CACHE_SHARE = 0.5;
/** The share of the memory left beside weights and cache for embeddings, without a limit. */
const EMBEDDING_SHARE = 0.5;
/** The share of the host's free memory for offloaded prefixes, without a limit, and its most in bytes. */
const PARKING_SHARE = 1 / 8;
const MOST_PARKING_BYTES = 8 * 1024 ** 3;

export interface MemoryFacts {
  trainedContext: number;
  /** Bytes of one token's keys and values over all layers; 0 where no layer attends. */
  cellBytes: number;
  /** Bytes of one sequence's state over all recurrent layers. */
  stateBytes: number;
  weightBytes: number;
  /** Free bytes where the cache will lie, before the weights are loaded. */
  freeBytes: number;
  /** True where the cache lies in the memory of a GPU. */
  onGpu: boolean;
  memory: LocalFacts["memory"];
}

type SizeOptions = Pick<EngineConfig, "context" | "sequences" | "kv" | "cells">;

export interface MemoryPlan {
  kv: KvKind;
  /** The longest request in tokens. */
  context: number;
  cells: number;
  /** Sequence ids: running sequences and, in a unified cache, idle prefixes. */
  ids: number;
}

/**
 * Decides the kind and the size of the cache before memory is allocated. A split cache is the faster one as long as every
 * sequence can have a whole context of its own. Where memory is short, or the model's memory is not plain attention (ids can't
 * be moved there), sequences share a unified one, and a single request may have all of it.
 *
 * | without --context | split | unified |
 * |---|---|---|
 * | on a CPU | the trained context, at most USUAL_CONTEXT: a cache takes memory from others, and time to clear | the trained one, as far as there are cells |
 * | on a GPU | the trained one, at most LONGEST_SPLIT, as far as memory allows, but not below AGENT_CONTEXT | the same |
 *
 * @throws Error with the missing memory and the option to change
 */
export function planMemory(config: SizeOptions & Pick<EngineConfig, "memory">, facts: MemoryFacts): MemoryPlan {
  const limit = config.memory ?? facts.freeBytes;
  const left = limit - facts.weightBytes - SLACK_BYTES;
  const states = config.sequences * facts.stateBytes;
  const budget = (config.memory === null ? left * CACHE_SHARE : left) - states;
  if (config.memory !== null && states > 0 && budget < 0) throw tooLarge(states, states + budget, "--sequences");
  const affordable = cellsWithin(budget, facts.cellBytes);

  const own = splitContext(config, facts, affordable / config.sequences);
  const wanted = pad(own) * config.sequences;
  const kind = config.kv !== "auto" ? config.kv : chooseKind(config, facts, wanted <= affordable);
  if (kind === "split") {
    if (wanted > affordable && config.memory !== null)
      throw tooLarge(wanted * facts.cellBytes, budget, "--context, --sequences or --kv split");
    return { kv: kind, context: own, cells: wanted, ids: config.sequences };
  }
  const context = config.context ?? facts.trainedContext;
  const cells = pad(config.cells ?? Math.min(sharedCells(config, facts), Math.max(affordable, CELL_PADDING)));
  // A limit is kept exactly; measured free memory is an estimate.
  if (config.memory !== null && cells > affordable)
    throw tooLarge(cells * facts.cellBytes, budget, config.cells === null ? null : "--cells");
  const longest = Math.min(context, cells);
  if (config.context !== null && longest < config.context)
    throw tooLarge(
      config.context * facts.cellBytes,
      cells * facts.cellBytes,
      config.cells === null ? "--context" : "--context or raise --cells",
    );
  const spare = spareIds(config, facts, budget - cells * facts.cellBytes);
  return { kv: kind, context: longest, cells, ids: Math.min(MOST_IDS, config.sequences + spare) };
}

/**
 * The context of a split cache, for which there may be no room: sequences then share all cells, unless a split one was asked for.
 *
 * @param each affordable cells of a sequence
 */
function splitContext({ context, kv }: SizeOptions, { trainedContext, onGpu }: MemoryFacts, each: number): number {
  if (context !== null) return context;
  const longest = Math.min(trainedContext, onGpu ? LONGEST_SPLIT : USUAL_CONTEXT);
  const least = Math.min(longest, onGpu && kv === "auto" ? AGENT_CONTEXT : USUAL_CONTEXT);
  return Math.max(least, Math.min(longest, Math.floor(each / CELL_PADDING) * CELL_PADDING));
}

/** Cells of a unified cache where memory is not short: for usual requests of all sequences, or for the longest request. */
function sharedCells({ context, sequences }: SizeOptions, { trainedContext }: MemoryFacts): number {
  const usual = pad(context ?? Math.min(trainedContext, USUAL_CONTEXT));
  return Math.max(usual * sequences, pad(context ?? trainedContext));
}

/**
 * Ids of a unified cache for idle prefixes, besides those of sequences. Where each has a state, none without memory for all.
 *
 * @param left bytes beside the cells and the states of sequences
 */
function spareIds({ sequences }: SizeOptions, { memory, stateBytes }: MemoryFacts, left: number): number {
  if (memory === "full") return sequences;
  // Cells of windows are not shared.
  if (memory === "sliding-window") return 0;
  const spare = Math.min(SHARED_STATES, sequences - 1);
  return spare * stateBytes <= left ? spare : 0;
}

/** Bytes that the cells and states of a plan take. */
export function cacheBytes({ cells, ids }: Pick<MemoryPlan, "cells" | "ids">, facts: MemoryFacts): number {
  return cells * facts.cellBytes + ids * facts.stateBytes;
}

/** The cells that fit into these bytes, in llama.cpp's units. */
export function cellsWithin(bytes: number, cellBytes: number): number {
  // The cells of a model that does not attend take no memory.
  if (cellBytes === 0) return Number.MAX_SAFE_INTEGER - (Number.MAX_SAFE_INTEGER % CELL_PADDING);
  return Math.floor(bytes / cellBytes / CELL_PADDING) * CELL_PADDING;
}

/**
 * The least and the most memory of a plan for these options; with `least` as the limit there always is a plan.
 *
 * @param embeddingBytes memory of embeddings beside the cache where memory is not short
 */
export function memoryNeeds(config: SizeOptions, facts: MemoryFacts, embeddingBytes: number): ModelNeeds {
  const { context, sequences, kv, cells } = config;
  const usual = pad(context ?? Math.min(facts.trainedContext, USUAL_CONTEXT));
  const splits = kv === "split" || (kv === "auto" && cells === null && facts.memory === "full");
  const own = pad(splitContext(config, facts, Number.POSITIVE_INFINITY));
  const wanted = splits ? own * sequences : pad(cells ?? sharedCells(config, facts));
  const least = kv === "split" ? usual * sequences : cells === null ? usual : pad(cells);
  const states = config.sequences * facts.stateBytes;
  const bytes = (cells: number) => besideWeights(facts, cells * facts.cellBytes + states);
  const shared = splits ? 0 : spareIds(config, facts, Number.POSITIVE_INFINITY) * facts.stateBytes;
  return { least: bytes(least), wanted: bytes(wanted) + shared + Math.ceil(embeddingBytes), free: facts.freeBytes };
}

/** The same for a model without a cache, which only embeds. */
export function embeddingNeeds(facts: MemoryFacts, embeddingBytes: number): ModelNeeds {
  const bytes = besideWeights(facts, embeddingBytes);
  return { least: bytes, wanted: bytes, free: facts.freeBytes };
}

/** One byte more, since the later division by the size of a cell rounds down. */
function besideWeights({ weightBytes }: MemoryFacts, bytes: number): number {
  return weightBytes + SLACK_BYTES + Math.ceil(bytes) + 1;
}

/**
 * Bytes for embeddings. Without a limit: half of the memory that weights and cache leave. With a limit: all that they leave of
 * it but SLACK_BYTES, or half of it if that is more.
 *
 * @param cacheBytes memory of the cache of generation
 */
export function embeddingBudget(
  { memory }: Pick<EngineConfig, "memory">,
  { weightBytes, freeBytes }: Pick<MemoryFacts, "weightBytes" | "freeBytes">,
  cacheBytes: number,
): number {
  const left = Math.max(0, (memory ?? freeBytes) - weightBytes - cacheBytes);
  return memory === null ? left * EMBEDDING_SHARE : Math.max(left * EMBEDDING_SHARE, left - SLACK_BYTES);
}

/**
 * Bytes of host memory for offloaded prefixes.
 *
 * @param leftBytes free memory of the host beside weights and cache
 */
export function planParking(config: Pick<EngineConfig, "parkMemory">, leftBytes: number): number {
  return config.parkMemory ?? Math.floor(Math.min(MOST_PARKING_BYTES, Math.max(0, leftBytes) * PARKING_SHARE));
}

function chooseKind(config: Pick<EngineConfig, "cells">, facts: MemoryFacts, fits: boolean): KvKind {
  return facts.memory === "full" && fits && config.cells === null ? "split" : "unified";
}

function pad(cells: number): number {
  return Math.ceil(cells / CELL_PADDING) * CELL_PADDING;
}

function tooLarge(needed: number, budget: number, options: string | null): Error {
  const mebibytes = (bytes: number) => `${Math.round(Math.max(0, bytes) / 1024 / 1024)} MiB`;
  return new Error(
    `The KV cache would take ${mebibytes(needed)} and ${mebibytes(budget)} are there for it: ` +
      `${options === null ? "raise --memory" : `lower ${options}`}.`,
  );
}
