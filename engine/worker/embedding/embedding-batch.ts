import type { StepCosts } from "../cost/step-model.ts";

/** An input and its progress. */
export interface Readable {
  readonly tokens: readonly number[];
  computed: number;
}

export interface EmbeddingBatchEntry<R extends Readable> {
  input: R;
  /** Tokens of its remaining ones. */
  count: number;
}

export interface EmbeddingBatchLimits {
  /** Tokens of a batch of one input, at most. */
  alone: number;
  /** Tokens of a batch of several inputs, at most. */
  together: number;
  /** Inputs at most. */
  inputs: number;
  /** Milliseconds that the batch should take at most. */
  ms: number;
  /** True where an input can't be divided over batches. */
  whole: boolean;
  costs: StepCosts;
}

/** Tokens of a longer input that are worth a decode, at least. */
const LEAST_CHUNK = 16;

/**
 * The first inputs of `queue` that fit into one decode and into its time. The first one always makes progress. Only the last
 * one may stay partly computed, so at most one holds cells from one batch to the next.
 */
export function planEmbeddingBatch<R extends Readable>(
  queue: Iterable<R>,
  limits: EmbeddingBatchLimits,
): EmbeddingBatchEntry<R>[] {
  const entries: EmbeddingBatchEntry<R>[] = [];
  let tokens = 0;
  for (const input of queue) {
    if (entries.length === limits.inputs) break;
    const remaining = input.tokens.length - input.computed;
    const room = Math.min(remaining, entries.length === 0 ? limits.alone : limits.together - tokens);
    const least = Math.min(remaining, limits.whole ? remaining : LEAST_CHUNK);
    if (room < least) break;
    const fits = fitting(tokens, room, limits);
    const count = entries.length === 0 ? Math.max(least, fits) : fits;
    if (count < least || (limits.whole && count < remaining)) break;
    entries.push({ input, count });
    tokens += count;
    if (count < remaining) break;
  }
  return entries;
}

/** Predicted milliseconds of the smallest batch that makes progress with an input. */
export function cheapestMs(input: Readable, { whole, costs }: Pick<EmbeddingBatchLimits, "whole" | "costs">): number {
  const remaining = input.tokens.length - input.computed;
  return batchMs(costs, whole ? remaining : Math.min(remaining, LEAST_CHUNK));
}

/** Predicted milliseconds of a batch; all of its tokens share its cells. */
export function batchMs(costs: StepCosts, tokens: number): number {
  return costs.predict({ prefill: tokens, decode: 0, kv: 0, read: tokens * tokens, passes: 1 });
}

/** The further tokens, up to `most`, with which a batch of `tokens` stays within its time. */
function fitting(tokens: number, most: number, { ms, costs }: EmbeddingBatchLimits): number {
  if (ms === Number.POSITIVE_INFINITY) return most;
  const bounded = Math.min(most, costs.reach.prefill - tokens);
  let fits = 0;
  let over = bounded + 1;
  while (over - fits > 1) {
    const middle = (fits + over) >> 1;
    if (batchMs(costs, tokens + middle) <= ms) fits = middle;
    else over = middle;
  }
  return Math.max(0, fits);
}
