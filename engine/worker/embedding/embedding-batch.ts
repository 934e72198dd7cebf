import type { StepCosts } from "../cost/step-model.ts";

/** An input as far as it is computed. */
export interface Readable {
  readonly tokens: readonly number[];
  computed: number;
}

export interface PieceEntry<R extends Readable> {
  input: R;
  /** How many of its remaining tokens. */
  count: number;
}

export interface PieceLimits {
  /** Most tokens of one input alone; of several together; and most inputs. */
  alone: number;
  together: number;
  inputs: number;
  /** Milliseconds that it should take. */
  ms: number;
  /** Whether every input goes in one piece. */
  whole: boolean;
  costs: StepCosts;
}

/** Fewest tokens of a longer input that are worth a decode. */
const LEAST_CHUNK = 16;

/**
 * The first of `queue` that fit into one decode and into its time. The first always makes some progress. Only the last may
 * be left unfinished, so that at most one holds cells from one piece to the next.
 */
export function planPiece<R extends Readable>(queue: Iterable<R>, limits: PieceLimits): PieceEntry<R>[] {
  const entries: PieceEntry<R>[] = [];
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

/** Milliseconds of the smallest piece that brings an input on. */
export function cheapestMs(input: Readable, { whole, costs }: Pick<PieceLimits, "whole" | "costs">): number {
  const remaining = input.tokens.length - input.computed;
  return pieceMs(costs, whole ? remaining : Math.min(remaining, LEAST_CHUNK));
}

/** All tokens of a piece share its cells. */
export function pieceMs(costs: StepCosts, tokens: number): number {
  return costs.predict({ prefill: tokens, decode: 0, kv: 0, read: tokens * tokens, passes: 1 });
}

/** The most further tokens, up to `most`, with which a piece of `tokens` stays within its time. */
function fitting(tokens: number, most: number, { ms, costs }: PieceLimits): number {
  if (ms === Number.POSITIVE_INFINITY) return most;
  const bounded = Math.min(most, costs.reach.prefill - tokens);
  let fits = 0;
  let over = bounded + 1;
  while (over - fits > 1) {
    const middle = (fits + over) >> 1;
    if (pieceMs(costs, tokens + middle) <= ms) fits = middle;
    else over = middle;
  }
  return Math.max(0, fits);
}
