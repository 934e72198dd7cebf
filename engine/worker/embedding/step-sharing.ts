export interface SharingLimits {
  /** The objective for the gap between two tokens of a stream, in milliseconds. */
  itlMs: number;
  /** Fraction by which lower tiers may lengthen the time of online work. */
  batchTax: number;
}

/** The highest class of the waiting work of one side: steps, or embedding batches. */
export type WorkClass = "nothing" | "lower" | "online";

/**
 * Decides whether a step or an embedding batch computes next, and for how long. Pure.
 *
 * | steps | embeddings | an embedding batch may take |
 * |---|---|---|
 * | nothing | any | any time; of lower tiers, the time of one of their steps alone |
 * | lower | online | any time; a step runs when the saved tax covers it |
 * | lower | lower | the time of one of their steps, alternating with steps |
 * | online | online | the time that the ITL objective leaves beside a step, at least that of a step: one after each step |
 * | online | lower | the saved tax |
 */
export class StepSharing {
  readonly #limits: SharingLimits;
  /** Milliseconds of saved tax for lower tiers on either side; below 0, the time that batches took beyond it. */
  #saved = 0;
  #lastStepMs = 0;
  #stepped = false;

  constructor(limits: SharingLimits) {
    this.#limits = limits;
  }

  /** Whether a step comes before an embedding batch. */
  stepNext(steps: WorkClass, pieces: WorkClass): boolean {
    if (steps === "nothing") return false;
    if (pieces === "online" && steps === "lower") return this.#saved >= this.#lastStepMs;
    return true;
  }

  /**
   * Milliseconds that an embedding batch may take now; 0 for no batch.
   *
   * @param cheapestMs milliseconds of the smallest batch that makes progress
   * @param aloneMs milliseconds that a step of lower tiers may take alone
   */
  pieceMs(steps: WorkClass, pieces: WorkClass, cheapestMs: number, aloneMs: number): number {
    if (pieces === "nothing") {
      this.#saved = Math.min(0, this.#saved);
      return 0;
    }
    if (steps !== "online") return pieces === "online" ? Number.POSITIVE_INFINITY : Math.max(cheapestMs, aloneMs);
    if (!this.#stepped) return 0;
    const { itlMs } = this.#limits;
    if (pieces === "online") return Math.max(itlMs - this.#lastStepMs, this.#lastStepMs, cheapestMs);
    // Not longer than a step, so that tax that was saved over an idle time can't stall streams.
    return this.#saved >= cheapestMs ? Math.min(this.#saved, Math.max(cheapestMs, this.#lastStepMs)) : 0;
  }

  /** A step of class `steps` took `ms`. */
  stepped(ms: number, steps: WorkClass): void {
    this.#stepped = true;
    this.#lastStepMs = ms;
    if (steps === "online") this.#saved += ms * this.#limits.batchTax;
    else this.#saved = Math.max(0, this.#saved - ms);
  }

  /** An embedding batch of class `pieces` took `ms` while steps of class `steps` waited. */
  pieced(ms: number, pieces: WorkClass, steps: WorkClass): void {
    this.#stepped = false;
    if (pieces === "online") this.#saved += ms * this.#limits.batchTax;
    // Time beyond the prediction reduces that of later batches: streams never pay more than the tax.
    else if (steps === "online") this.#saved -= ms;
    else this.#saved = Math.max(0, this.#saved - ms);
  }
}
