import type { Tier } from "../../protocol/request.ts";
import type { TimeShare } from "../../protocol/step.ts";
import type { Fit, StepShape } from "./step-model.ts";

/** The part of one sequence or input in a step or an embedding batch, with its tier and endpoint. */
export interface WorkPart extends Omit<StepShape, "passes"> {
  readonly tier: Tier;
  readonly endpoint: string;
}

/** The share of a step's cost that belongs to one tier at one endpoint: 0 to 1. */
export type CostShare = Omit<TimeShare, "ms"> & { share: number };

/**
 * Divides a step's cost. Every part pays its own tokens at the step model's prices, and an equal share of the fixed cost of
 * the step: the weights are read once, for all parts. For such a cost this is the Shapley value: the cost that a part adds,
 * averaged over all orders of the parts. If the parts added last paid only their marginal cost, batch work would look nearly
 * free and online work expensive, because of an arbitrary order.
 *
 * Pure. The shares are not negative, and sum to 1 unless there is no part.
 *
 * @param passes over the weights, of the whole step
 */
export function costShares(parts: readonly WorkPart[], passes: number, fit: Readonly<Fit>): CostShare[] {
  const even = (fit.o + fit.m * (passes - 1)) / parts.length;
  const shares = grouped(parts, ({ prefill, decode, kv, read }) => {
    return even + fit.p * prefill + fit.d * decode + fit.k * kv + fit.r * read;
  });
  // A fit may price all parts of a step at nothing; the step took time all the same.
  return shares ?? grouped(parts, ({ prefill, decode }) => prefill + decode) ?? [];
}

/** The shares as milliseconds of the measured time. */
export function timeShares(shares: readonly CostShare[], ms: number): TimeShare[] {
  return shares.map(({ tier, endpoint, share }) => ({ tier, endpoint, ms: ms * share }));
}

/** Null where no part costs anything. */
function grouped(parts: readonly WorkPart[], costOf: (part: WorkPart) => number): CostShare[] | null {
  const shares: CostShare[] = [];
  let total = 0;
  for (const part of parts) {
    const { tier, endpoint } = part;
    const cost = costOf(part);
    total += cost;
    // There are few at most: a linear search is faster than making a key.
    const known = shares.find((share) => share.tier === tier && share.endpoint === endpoint);
    if (known === undefined) shares.push({ tier, endpoint, share: cost });
    else known.share += cost;
  }
  if (!(total > 0)) return null;
  for (const share of shares) share.share /= total;
  return shares;
}
