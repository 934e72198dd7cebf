import { TIERS, type Tier } from "../../protocol/request.ts";
import type { Sequence } from "./scheduled-sequence.ts";

/** By tier, the best first. */
export const RANK = Object.fromEntries(TIERS.map((tier, rank) => [tier, rank])) as Record<Tier, number>;

/** Whether a goes before b: the better tier first, then who came first. */
function compare(a: Sequence, b: Sequence): number {
  return RANK[a.tier] - RANK[b.tier] || a.arrival - b.arrival;
}

/** Puts a sequence where it belongs in a list that is in that order. */
export function insert<S extends Sequence>(list: S[], sequence: S): void {
  const index = list.findLastIndex((other) => compare(other, sequence) < 0);
  list.splice(index + 1, 0, sequence);
}
