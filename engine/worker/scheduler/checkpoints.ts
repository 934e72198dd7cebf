import { type CachedSequence, commonPrefix, reusableLength } from "../kv/cached-sequence.ts";
import type { KvCache } from "../kv/kv-cache.ts";
import { PrefixTree } from "../kv/prefix-tree.ts";
import { type Checkpoint, isDecode, type Sequence } from "./scheduled-sequence.ts";
import { isOnline } from "./tiers.ts";

/** Fewest tokens between the start of a sequence, its checkpoints and its end: below it a copy saves too little. */
const SHORTEST = 32;
/** The same for a copy that only the sequence's own id can use: the step that ends there has to pay. */
const SHORTEST_IN_PLACE = 64;
/**
 * Fewest tokens of a prompt after its last checkpoint. The next turn of a chat begins with the prompt of this one, but for the
 * tokens that open the answer; the same prompt again needs one token to compute.
 */
const SHORTEST_TAIL = 4;
/** Prompts that are remembered: a prefix that two of them have in common is kept for the third. */
const MOST_PROMPTS = 64;

/**
 * Positions at which the states of running sequences are kept, for models whose prefixes are reused as a whole alone. A chunk
 * ends at the next one. Positions are where a prompt parts from one that waits, or from an earlier one, and shortly before its
 * end.
 *
 * Where a copy of the whole state takes too long, or has no room, the part that cannot be cut is copied instead: the next turn
 * of the chat can then start there, at the same id. Such copies are also made during long prompts, so that a history that was
 * changed in the middle can start before the change.
 */
export class Checkpoints<S extends Sequence> {
  readonly #cache: Pick<KvCache, "prefixes" | "checkpoint">;
  readonly #tail: number;
  readonly #prompts = new PrefixTree();
  /** The remembered prompts, oldest first, and the sequences whose prompts were taken. */
  readonly #remembered = new Set<CachedSequence>();
  readonly #taken = new WeakSet<S>();
  /**
   * True while a step is planned that had no time for a copy. The prompts that waited for it start in this step: with a
   * shared checkpoint, the first of them would let the others wait again.
   */
  #refused = false;

  /** @param opening tokens at the end of a chat's prompt that the next turn's does not have */
  constructor(cache: Pick<KvCache, "prefixes" | "checkpoint">, opening = 0) {
    this.#cache = cache;
    this.#tail = Math.max(SHORTEST_TAIL, opening);
  }

  /** Called when a sequence begins to wait: running ones stop where it parts from them. */
  expect({ tokens, scope }: S, running: readonly S[]): void {
    for (const other of running) {
      const { computed, checkpoint } = other;
      if (other.scored || other.scope !== scope || other.tokens[computed] !== tokens[computed]) continue;
      const common = commonPrefix(tokens, other.tokens, reusableLength(tokens));
      if (this.#isShared(computed, common) && common < (checkpoint?.position ?? Number.POSITIVE_INFINITY))
        other.checkpoint = { position: common, isShared: true };
    }
  }

  /** Called when a sequence was placed, and no longer waits. */
  begin(sequence: S): void {
    // All tokens of a scored prompt are computed, and no other one starts with them.
    if (sequence.scored) return;
    sequence.checkpoint = this.#refused ? this.#inPlace(sequence) : this.#next(sequence);
    this.#remember(sequence);
  }

  /** Copies the states of sequences that are at their checkpoint; called once before each step. */
  copy(running: readonly S[]): void {
    this.#refused = false;
    for (const sequence of running) {
      const { checkpoint, computed } = sequence;
      if (!checkpoint || computed < checkpoint.position) {
        if (!sequence.scored && !isDecode(sequence)) this.#copyInPlace(sequence, true);
        continue;
      }
      // A step that ran when the checkpoint was set may have passed it.
      if (computed === checkpoint.position) this.#copy(sequence, checkpoint);
      sequence.checkpoint = this.#next(sequence);
    }
  }

  #copy(sequence: S, { isShared }: Checkpoint): void {
    if (isShared && this.#cache.checkpoint(sequence, isOnline(sequence))) return;
    if (isShared) this.#refused = true;
    this.#copyInPlace(sequence, false);
  }

  #copyInPlace(sequence: S, spaced: boolean): void {
    if (hasNextTurn(sequence)) this.#cache.prefixes.inPlace.take(sequence, isOnline(sequence), spaced);
  }

  #next(sequence: S): Checkpoint | null {
    const { tokens, computed, scope } = sequence;
    const last = tokens.length - this.#tail;
    const common = Math.min(this.#common(tokens, scope), last);
    if (this.#isShared(computed, common)) return { position: common, isShared: true };
    if (hasNextTurn(sequence) && this.#isShared(computed, last)) return { position: last, isShared: true };
    return this.#inPlace(sequence);
  }

  #inPlace(sequence: S): Checkpoint | null {
    if (!hasNextTurn(sequence)) return null;
    const { tokens, computed } = sequence;
    const last = tokens.length - this.#tail;
    const isWorth = last - computed >= SHORTEST_IN_PLACE && this.#cache.prefixes.inPlace.pays(computed, last);
    return isWorth ? { position: last, isShared: false } : null;
  }

  /** Prompts would wait in vain, one after the other, for a copy that is not made since it takes too long. */
  #isShared(computed: number, position: number): boolean {
    return position - computed >= SHORTEST && this.#cache.prefixes.host.pays(position);
  }

  /** The most tokens that a prompt has in common with one that waits, or with an earlier one. */
  #common(tokens: readonly number[], scope: string): number {
    const one = { id: -1, tokens, computed: 0, scope };
    return Math.max(this.#cache.prefixes.awaited(one), this.#prompts.match(one, tokens.length).length);
  }

  #remember(sequence: S): void {
    const { tokens, scope } = sequence;
    if (this.#taken.has(sequence)) return;
    this.#taken.add(sequence);
    const prompt: CachedSequence = { id: -1, tokens: tokens.slice(), computed: tokens.length, scope };
    this.#remembered.add(prompt);
    this.#prompts.add(prompt);
    const [oldest] = this.#remembered;
    if (this.#remembered.size <= MOST_PROMPTS || oldest === undefined) return;
    this.#remembered.delete(oldest);
    this.#prompts.remove(oldest);
  }
}

/** A line of a batch has none: copies for it would replace those of chats, and take steps. */
function hasNextTurn({ tier }: Sequence): boolean {
  return tier !== "batch";
}
