import type { CachedSequence } from "../kv/cached-sequence.ts";
import type { Tiered } from "./tiers.ts";

/** A position at which the state of a sequence is kept for prompts that come later. */
export interface Checkpoint {
  /** The number of computed tokens after which it is kept: a chunk ends there. */
  readonly position: number;
  /** Whether other sequences can start there; otherwise only the sequence's own id can be cut there. */
  readonly isShared: boolean;
}

/**
 * One sequence as the scheduler sees it.
 *
 * | state | holds | next |
 * |---|---|---|
 * | waiting | no id and no cells; it is in the waiting queue | running, when there is an id and room for its prompt |
 * | running | an id and cells; `computed` of its tokens are in the cache | waiting when it is preempted, or ended |
 * | ended | nothing | — |
 *
 * There is no state for prefill. The tokens past `computed` are to be computed, and when one is left, that is a decode.
 * Nor is there a state for skipped: a running sequence that a plan leaves out keeps all that it holds, as does one that is
 * not ready.
 */
export interface Sequence extends CachedSequence, Tiered {
  /** Owners share a tier fairly. */
  readonly owner: string;
  /** The prompt, and then the generated tokens. */
  readonly tokens: number[];
  /** True when the logits behind every prompt token are wanted. A step has few such rows. */
  readonly scored?: boolean;
  /** Generated tokens, and the most that may follow; absent where the end is not known. */
  readonly answer?: { written: number; left: number };
  state: "waiting" | "running" | "ended";
  /** Its next checkpoint. */
  checkpoint?: Checkpoint | null;
  /**
   * Whether a step may compute the sequence; without this function every step may. Called before each step while the
   * sequence runs. A sequence that is not ready keeps its id and its cells, and wakes the work loop when it becomes ready.
   * From then on it stays ready.
   */
  ready?(): boolean;
}

/** Tokens that are not in the cache yet; between steps at least 1 for a running sequence. */
export function remaining(sequence: Pick<Sequence, "tokens" | "computed">): number {
  return sequence.tokens.length - sequence.computed;
}

/** Of these, tokens that one chunk may have. */
export function chunkable(sequence: Pick<Sequence, "tokens" | "computed" | "checkpoint">): number {
  const { computed, checkpoint } = sequence;
  return checkpoint && checkpoint.position > computed ? checkpoint.position - computed : remaining(sequence);
}

export function isDecode(sequence: Pick<Sequence, "tokens" | "computed">): boolean {
  return remaining(sequence) === 1;
}
