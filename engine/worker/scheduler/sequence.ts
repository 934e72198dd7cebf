import type { Tier } from "../../protocol.ts";
import type { Resident } from "../kv/resident.ts";

/**
 * One generation as the scheduler sees it.
 *
 * | state | holds | next |
 * |---|---|---|
 * | waiting | nothing; its place in the queue | running, when there is an id and room for its prompt |
 * | running | an id and cells; `computed` of its tokens are in the cache | waiting again when cells run out, or ended |
 * | ended | nothing | — |
 *
 * There is no state for prefill: whatever is not yet computed of `tokens` is to be computed, and when one token is left,
 * that is a decode.
 */
export interface Sequence extends Resident {
  readonly tier: Tier;
  /** Order of arrival over all sequences. */
  readonly arrival: number;
  /** The prompt, and then what was generated. */
  readonly tokens: number[];
  state: "waiting" | "running" | "ended";
}

/** Tokens that are not in the cache yet; at least 1 for a running sequence, between steps. */
export function remaining(sequence: Sequence): number {
  return sequence.tokens.length - sequence.computed;
}

export function isDecode(sequence: Sequence): boolean {
  return remaining(sequence) === 1;
}
