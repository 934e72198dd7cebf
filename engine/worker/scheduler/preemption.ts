import type { KvCache } from "../kv/kv-cache.ts";
import type { Sequence } from "./scheduled-sequence.ts";
import type { TierLimits } from "./tier-limits.ts";
import { isOnline, outranks } from "./tiers.ts";

export interface PreemptionParts<S extends Sequence> {
  cache: Pick<KvCache, "fitsWithout" | "release">;
  limits: Pick<TierLimits, "batch">;
  /** By tier and arrival. */
  running: S[];
  /** Puts a preempted sequence back into the waiting queue. */
  requeue: (sequence: S) => void;
}

/**
 * Preemption: a running sequence gives up its id and cells, and waits again. The victim is always the last one of the lowest
 * tier that runs, so the first one always finishes, and by induction every one does. Its computed tokens stay as an idle
 * prefix, and as many of them as survive in the cache are not computed again.
 *
 * Sequences are preempted for two reasons: a sequence of a better tier starts, or running sequences hold all cells.
 */
export class Preemption<S extends Sequence> {
  readonly #parts: PreemptionParts<S>;
  /** In the step that is being scheduled. */
  #preempted: S[] = [];

  constructor(parts: PreemptionParts<S>) {
    this.#parts = parts;
  }

  beginStep(): void {
    this.#preempted = [];
  }

  /** Sequences preempted in this step. */
  get count(): number {
    return this.#preempted.length;
  }

  /**
   * Whether a waiting sequence has to wait for one that was preempted in this step. That one precedes the others of its
   * level, and there is no room for it now.
   */
  holdsBack(waiting: S): boolean {
    const last = this.#preempted.at(-1);
    return last !== undefined && !outranks(waiting, last);
  }

  /** Whether preempting lower tiers can make room for a sequence. No sequence is preempted without need. */
  canMakeRoomFor(sequence: S): boolean {
    const { cache, limits, running } = this.#parts;
    let victims = running.filter((other) => outranks(sequence, other));
    // Flex leaves batch its share.
    if (!isOnline(sequence)) victims = victims.slice(limits.batch);
    return victims.length > 0 && cache.fitsWithout(sequence, victims);
  }

  /** Preempts the last sequence of the lowest tier. @returns that sequence */
  preempt(): S {
    const { cache, running, requeue } = this.#parts;
    const victim = running.pop()!;
    // It waits before it releases its cells: they are the prefix that it will start with.
    requeue(victim);
    cache.release(victim, victim.tier === "batch");
    victim.computed = 0;
    this.#preempted.push(victim);
    return victim;
  }
}
