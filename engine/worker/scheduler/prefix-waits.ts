import { commonPrefix, reusableLength } from "../kv/cached-sequence.ts";
import type { KvCache } from "../kv/kv-cache.ts";
import { isOnline, type Sequence } from "./scheduled-sequence.ts";
import { RANK } from "./tiers.ts";

/** Fewer tokens than this are sooner computed twice than waited for. */
const SHORTEST_WAIT = 16;

/** Who waits for a prefix that another is computing, and up to which length. */
export class PrefixWaits<S extends Sequence> {
  readonly #cache: Pick<KvCache, "copyPrice" | "reusable">;
  readonly #awaited = new Map<S, { ahead: S; length: number }>();

  constructor(cache: Pick<KvCache, "copyPrice" | "reusable">) {
    this.#cache = cache;
  }

  /** Whether the one that it was found to wait for still runs, and has not come as far. */
  goesOn(sequence: S): boolean {
    const known = this.#awaited.get(sequence);
    return known?.ahead.state === "running" && known.ahead.computed < known.length;
  }

  /** Whether one of the running, in the order of their tiers, is about to compute enough of its prompt; it then waits. */
  begins(sequence: S, running: readonly S[]): boolean {
    const { tokens } = sequence;
    const limit = reusableLength(tokens);
    const shortest = Math.max(SHORTEST_WAIT, this.#cache.copyPrice);
    let ahead: S | null = null;
    let length = shortest;
    for (const other of running) {
      if (RANK[other.tier] > RANK[sequence.tier]) break;
      // To be worth more it must agree both where the best so far ends and where it has still to compute: most are
      // passed by at these two comparisons.
      const { computed } = other;
      if (Math.max(length, computed) >= limit || other.scope !== sequence.scope) continue;
      if (other.tokens[length] !== tokens[length] || other.tokens[computed] !== tokens[computed]) continue;
      const shared = commonPrefix(tokens, other.tokens, limit);
      if (shared <= length || computed >= shared) continue;
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
