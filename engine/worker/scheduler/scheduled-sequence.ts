import type { Tier } from "../../protocol/request.ts";
import type { CachedSequence } from "../kv/cached-sequence.ts";

/**
 * One generation as the scheduler sees it.
 *
 * | state | holds | next |
 * |---|---|---|
 * | waiting | nothing; its place in the queue | running, when there is an id and room for its prompt |
 * | running | an id and cells; `computed` of its tokens are in the cache | waiting again when a better tier needs its room or cells run out, or ended |
 * | ended | nothing | — |
 *
 * There is no state for prefill: whatever is not yet computed of `tokens` is to be computed, and when one token is left,
 * that is a decode. Nor is there one for parked: a running sequence that a plan leaves out, as it does one that is not
 * ready, keeps all it holds.
 */
export interface Sequence extends CachedSequence {
  readonly tier: Tier;
  /** Whose it is: owners take turns within a tier. */
  readonly owner: string;
  /** Order of arrival over all sequences. */
  readonly arrival: number;
  /** The prompt, and then what was generated. */
  readonly tokens: number[];
  /** Whether the logits behind every token of its prompt are wanted: such rows are few in a step. */
  readonly scored?: boolean;
  /** Tokens that it has generated, and that it may still generate at most; nothing where its end is not known. */
  readonly answer?: { written: number; left: number };
  state: "waiting" | "running" | "ended";
  /**
   * Whether a step may compute it; without it, any may. Asked before each step while it runs. One that is not ready keeps
   * its place and all it holds, and wakes the steps when it is; from then on it stays ready.
   */
  ready?(): boolean;
}

/** What may be sent back for what: online for nothing, flex for online, batch for both. */
const STANDING: Record<Tier, number> = { priority: 0, default: 0, flex: 1, batch: 2 };

/** Tokens that are not in the cache yet; at least 1 for a running sequence, between steps. */
export function remaining(sequence: Sequence): number {
  return sequence.tokens.length - sequence.computed;
}

export function isDecode(sequence: Sequence): boolean {
  return remaining(sequence) === 1;
}

/** Whether someone waits for each of its tokens: the lower tiers, flex and batch, fill what online leaves. */
export function isOnline(sequence: Sequence): boolean {
  return STANDING[sequence.tier] === 0;
}

export function countByTier(sequences: readonly Sequence[]): Record<Tier, number> {
  const counts: Record<Tier, number> = { priority: 0, default: 0, flex: 0, batch: 0 };
  for (const { tier } of sequences) counts[tier]++;
  return counts;
}

/** Whether a's tier is of a better kind than b's. Among online tiers none is: priority goes first but takes nothing away. */
export function outranks(a: Sequence, b: Sequence): boolean {
  return STANDING[a.tier] < STANDING[b.tier];
}

export type LowerTier = Extract<Tier, "flex" | "batch">;
