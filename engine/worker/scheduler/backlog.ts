import { TIERS, type Tier } from "../../protocol/request.ts";
import type { Backlog, TierBacklog } from "../../protocol/step.ts";
import { commonPrefix, reusableLength } from "../kv/cached-sequence.ts";
import { isDecode, remaining, type Sequence } from "./scheduled-sequence.ts";

/**
 * Adds up what the scheduler has to do. Of a prompt that waits, the tokens count that it will compute itself: a burst of
 * prompts that begin alike would else look many times the work that it is.
 */
export class BacklogCount<S extends Sequence> {
  /** Tokens at the beginning of a waiting prompt that it is taken to find computed. */
  readonly #found = new WeakMap<S, number>();
  #last: S | null = null;

  /** Notes a sequence that begins to wait. @param reusable tokens of it that the cache has now */
  expect(sequence: S, reusable: number): void {
    const last = this.#last;
    // Whoever came just before computes first what both begin with. Others are not compared: it would take too long.
    const shared =
      last === null || last === sequence || last.state === "ended"
        ? 0
        : commonPrefix(last.tokens, sequence.tokens, reusableLength(sequence.tokens));
    this.#found.set(sequence, Math.max(shared, reusable));
    this.#last = sequence;
  }

  /** @param attended positions that the next token of a running sequence attends over */
  read(waiting: readonly S[], running: readonly S[], attended: (sequence: S) => number) {
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
      kv += attended(sequence);
    }
    return { tiers, kvPerDecode: running.length === 0 ? 0 : kv / running.length } satisfies Partial<Backlog>;
  }
}
