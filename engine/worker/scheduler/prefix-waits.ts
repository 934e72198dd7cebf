import { commonPrefix, type Reuse, reusableLength } from "../kv/cached-sequence.ts";
import type { KvCache } from "../kv/kv-cache.ts";
import type { Sequence } from "./scheduled-sequence.ts";
import { isOnline, isServedAfter } from "./tiers.ts";

/** Fewest tokens for which waiting is faster than computing them twice. */
const SHORTEST_WAIT = 16;

/**
 * Prompts that wait for a prefix that a running sequence is computing, to take it from the cache. A prompt waits for
 * sequences of its own tier or a better one alone, and while they run. When such a sequence ends early, the first prompt
 * that waited for it computes the prefix.
 */
export class PrefixWaits<S extends Sequence> {
  readonly #cache: Pick<KvCache, "copyPrice" | "reusable">;
  readonly #whole: boolean;
  readonly #awaited = new Map<S, { ahead: S; length: number }>();

  /** @param reuse with `whole`, a prompt can only take the state at a checkpoint of the sequence that it waits for */
  constructor(cache: Pick<KvCache, "copyPrice" | "reusable">, reuse: Reuse) {
    this.#cache = cache;
    this.#whole = reuse === "whole";
  }

  /** Whether the sequence that this one waits for still runs, and has not computed the whole prefix. */
  stillWaits(sequence: S): boolean {
    const known = this.#awaited.get(sequence);
    return known?.ahead.state === "running" && known.ahead.computed < known.length;
  }

  /**
   * Begins a wait if a running sequence is about to compute enough of this one's prompt.
   *
   * @param running by tier
   * @returns whether it waits
   */
  beginsToWait(sequence: S, running: readonly S[]): boolean {
    const { tokens } = sequence;
    const limit = reusableLength(tokens);
    const shortest = Math.max(SHORTEST_WAIT, this.#cache.copyPrice);
    let ahead: S | null = null;
    let length = shortest;
    for (const other of running) {
      if (isServedAfter(other, sequence)) break;
      // A better one agrees both where the best so far ends and where it has still to compute. These two comparisons pass
      // over most sequences.
      const { computed } = other;
      const most = this.#whole ? awaitable(other) : limit;
      if (most > limit || Math.max(length, computed) >= most || other.scope !== sequence.scope) continue;
      if (other.tokens[length] !== tokens[length] || other.tokens[computed] !== tokens[computed]) continue;
      const shared = commonPrefix(tokens, other.tokens, most);
      if (shared <= length || computed >= shared || (this.#whole && shared < most)) continue;
      ahead = other;
      length = shared;
    }
    if (ahead === null || length - this.#cache.reusable(sequence, isOnline(sequence)) <= shortest) return false;
    this.#awaited.set(sequence, { ahead, length });
    return true;
  }

  end(sequence: S): void {
    this.#awaited.delete(sequence);
  }
}

/** The tokens of a running sequence whose whole state others will be able to take. */
function awaitable({ checkpoint }: Sequence): number {
  return checkpoint?.isShared ? checkpoint.position : 0;
}
