import type { Tier } from "../../protocol/request.ts";
import type { TimeShare } from "../../protocol/step.ts";
import type { Fit, StepShape } from "./step-model.ts";

/** What one sequence, or one input, has in a step or a piece; and who it is for. */
export interface WorkPart extends Omit<StepShape, "passes"> {
  readonly tier: Tier;
  readonly endpoint: string;
}

/** Of what a step costs, the part of one tier at one endpoint: 0 to 1. */
export type CostShare = Omit<TimeShare, "ms"> & { share: number };

/**
 * Whose a step's cost is. Every part pays its own tokens at the step model's prices, and an even share of what the step
 * costs whoever is in it: the weights are read once, for all of them. Of such a cost this is the Shapley value: what a
 * part adds, averaged over all orders in which the parts could have come. To let those who came last pay only what they
 * added would make batch work look nearly free, and online work dear, for an order that nobody chose.
 *
 * Pure. The shares are not negative and sum to 1, as long as there is a part.
 *
 * @param passes over the weights, of the whole step
 */
export function costShares(parts: readonly WorkPart[], passes: number, fit: Readonly<Fit>): CostShare[] {
  const even = (fit.o + fit.m * (passes - 1)) / parts.length;
  const shares = grouped(parts, ({ prefill, decode, kv, read }) => {
    return even + fit.p * prefill + fit.d * decode + fit.k * kv + fit.r * read;
  });
  // A fit may say of all that is in a step that it costs nothing; it took its time all the same.
  return shares ?? grouped(parts, ({ prefill, decode }) => prefill + decode) ?? [];
}

/** The same of the time that the step took, in milliseconds. */
export function timeShares(shares: readonly CostShare[], ms: number): TimeShare[] {
  return shares.map(({ tier, endpoint, share }) => ({ tier, endpoint, ms: ms * share }));
}

/** Null where all of it costs nothing. */
function grouped(parts: readonly WorkPart[], costOf: (part: WorkPart) => number): CostShare[] | null {
  const shares: CostShare[] = [];
  let total = 0;
  for (const part of parts) {
    const { tier, endpoint } = part;
    const cost = costOf(part);
    total += cost;
    // A few at most: to look along them is faster than to make a key.
    const known = shares.find((share) => share.tier === tier && share.endpoint === endpoint);
    if (known === undefined) shares.push({ tier, endpoint, share: cost });
    else known.share += cost;
  }
  if (!(total > 0)) return null;
  for (const share of shares) share.share /= total;
  return shares;
}
