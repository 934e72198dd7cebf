import type { PieceStats } from "../../engine/protocol/embedding.ts";
import { type OnlineTier, TIERS_AHEAD, type Tier } from "../../engine/protocol/request.ts";
import { OwnerCounts } from "../../platform/owner-counts.ts";
import { runningMean } from "../../platform/running-mean.ts";

/** The embedding work of one model, and its measured speed. */
export class EmbeddingLoad {
  /** Tokens of requests that have not ended. */
  readonly #tokens: Record<Tier, OwnerCounts> = {
    priority: new OwnerCounts(),
    default: new OwnerCounts(),
    flex: new OwnerCounts(),
    batch: new OwnerCounts(),
  };
  #msPerToken = 0;

  add(tier: Tier, owner: string, tokens: number): void {
    this.#tokens[tier].add(owner, tokens);
  }

  learn({ ms, tokens }: PieceStats): void {
    if (tokens === 0) return;
    this.#msPerToken = runningMean(this.#msPerToken || null, ms / tokens);
  }

  /**
   * The predicted wait of a new request of this owner, in milliseconds; 0 before the first embedding batch was measured. A
   * lower bound: beside streams it is longer.
   */
  waitMs(tier: OnlineTier, owner: string): number {
    const before = (ahead: Tier) =>
      this.#tokens[ahead].total * (ahead === tier ? this.#tokens[tier].shareAhead(owner) : 1);
    return this.#msPerToken * TIERS_AHEAD[tier].reduce((sum, ahead) => sum + before(ahead), 0);
  }
}
