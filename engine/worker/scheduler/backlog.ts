import { TIERS, type Tier } from "../../protocol/request.ts";
import type { Backlog, TierBacklog } from "../../protocol/step.ts";
import { commonPrefix, reusableLength } from "../kv/cached-sequence.ts";
import type { Attended } from "../kv/kv-cache.ts";
import { isDecode, remaining, type Sequence } from "./scheduled-sequence.ts";

/**
 * Adds up the work that is left. Of a waiting prompt only the tokens count that it will compute itself: otherwise a burst of
 * prompts with one prefix would count as many times its work.
 */
export class BacklogCount<S extends Sequence> {
  /** Prompt tokens of a waiting sequence that are expected to be in the cache when it starts. */
  readonly #found = new WeakMap<S, number>();
  #last: S | null = null;

  /** Takes a sequence that begins to wait. @param reusable its tokens that the cache has now */
  expect(sequence: S, reusable: number): void {
    const last = this.#last;
    // The sequence before it computes their common prefix first. Comparing it with more sequences would take too long.
    const shared =
      last === null || last === sequence || last.state === "ended"
        ? 0
        : commonPrefix(last.tokens, sequence.tokens, reusableLength(sequence.tokens));
    this.#found.set(sequence, Math.max(shared, reusable));
    this.#last = sequence;
  }

  read(waiting: readonly S[], running: readonly S[], attended: Attended) {
    const tiers = Object.fromEntries(
      TIERS.map((tier): [Tier, TierBacklog] => [tier, { waiting: 0, running: 0, prefill: 0, written: 0, left: 0 }]),
    ) as Record<Tier, TierBacklog>;
    for (const sequence of waiting) {
      const tier = tiers[sequence.tier];
      tier.waiting++;
      tier.prefill += sequence.tokens.length - (this.#found.get(sequence) ?? 0);
    }
    let kv = 0;
    for (const sequence of running) {
      const tier = tiers[sequence.tier];
      tier.running++;
      tier.written += sequence.answer?.written ?? 0;
      tier.left += sequence.answer?.left ?? 0;
      if (!isDecode(sequence)) tier.prefill += remaining(sequence);
      kv += attended(sequence, 1, 0);
    }
    return { tiers, kvPerDecode: running.length === 0 ? 0 : kv / running.length } satisfies Partial<Backlog>;
  }
}
