import { TIERS, type Tier } from "../../protocol/request.ts";

/** The tiers below online work: they fill the time that priority and default leave. */
export type LowerTier = Extract<Tier, "flex" | "batch">;

/** The properties that order two sequences. */
export interface Tiered {
  readonly tier: Tier;
  /** Order of arrival over all sequences. */
  readonly arrival: number;
}

/** The order of service: 0 is first. */
const SERVICE_ORDER = Object.fromEntries(TIERS.map((tier, index) => [tier, index])) as Record<Tier, number>;

/**
 * A tier preempts tiers of a greater level: online tiers preempt flex and batch, flex preempts batch. Priority is served
 * before default, but does not preempt it.
 */
const PREEMPTION_LEVEL: Record<Tier, number> = { priority: 0, default: 0, flex: 1, batch: 2 };

/** Whether a client waits for each token: priority and default. */
export function isOnline({ tier }: Pick<Tiered, "tier">): boolean {
  return PREEMPTION_LEVEL[tier] === 0;
}

/** Whether a may preempt b. */
export function outranks(a: Pick<Tiered, "tier">, b: Pick<Tiered, "tier">): boolean {
  return PREEMPTION_LEVEL[a.tier] < PREEMPTION_LEVEL[b.tier];
}

/** Whether a's tier is served after b's. */
export function isServedAfter(a: Pick<Tiered, "tier">, b: Pick<Tiered, "tier">): boolean {
  return SERVICE_ORDER[a.tier] > SERVICE_ORDER[b.tier];
}

/** Inserts a sequence into a list that is sorted by tier, and within a tier by arrival. */
export function insertInOrder<S extends Tiered>(list: S[], sequence: S): void {
  const index = list.findLastIndex((other) => compare(other, sequence) < 0);
  list.splice(index + 1, 0, sequence);
}

export function countByTier(sequences: Iterable<Pick<Tiered, "tier">>): Record<Tier, number> {
  const counts: Record<Tier, number> = { priority: 0, default: 0, flex: 0, batch: 0 };
  for (const { tier } of sequences) counts[tier]++;
  return counts;
}

export function hasTier(sequences: readonly Pick<Tiered, "tier">[], tier: Tier): boolean {
  return sequences.some((sequence) => sequence.tier === tier);
}

function compare(a: Tiered, b: Tiered): number {
  return SERVICE_ORDER[a.tier] - SERVICE_ORDER[b.tier] || a.arrival - b.arrival;
}
