export interface TurnLimits {
  /** The objective for the gap between two tokens of a stream, in milliseconds. */
  itlMs: number;
  /** The share by which flex and batch may lengthen what online work takes. */
  batchTax: number;
}

/** What stands at one side: whether there is anything, and whether somebody waits for it. */
export type Want = "nothing" | "lower" | "online";

/**
 * Who computes next, and for how long: a step of generations, or a piece of embeddings. Pure.
 *
 * | steps | pieces | a piece may take |
 * |---|---|---|
 * | nothing | any | what it takes; of lower tiers, what a step of theirs may take alone |
 * | lower | online | what it takes; steps come when they have saved up the tax on it |
 * | lower | lower | as much as a step of theirs, by turns |
 * | online | online | what the objective leaves beside a step, at least as long as a step: one after each |
 * | online | lower | what the tax has saved up since the last |
 */
export class StepSharing {
  readonly #limits: TurnLimits;
  /** Milliseconds that the tax has saved up for lower tiers on either side; below 0, what pieces took beyond it. */
  #saved = 0;
  #lastStepMs = 0;
  #stepped = false;

  constructor(limits: TurnLimits) {
    this.#limits = limits;
  }

  /** Whether the next turn is a step's, if there is one to do. */
  stepNext(steps: Want, pieces: Want): boolean {
    if (steps === "nothing") return false;
    if (pieces === "online" && steps === "lower") return this.#saved >= this.#lastStepMs;
    return true;
  }

  /**
   * Milliseconds that a piece may take now; 0 is none.
   *
   * @param cheapestMs the smallest piece that makes progress
   * @param aloneMs what a step of lower tiers may take alone
   */
  pieceMs(steps: Want, pieces: Want, cheapestMs: number, aloneMs: number): number {
    if (pieces === "nothing") {
      this.#saved = Math.min(0, this.#saved);
      return 0;
    }
    if (steps !== "online") return pieces === "online" ? Number.POSITIVE_INFINITY : Math.max(cheapestMs, aloneMs);
    if (!this.#stepped) return 0;
    const { itlMs } = this.#limits;
    if (pieces === "online") return Math.max(itlMs - this.#lastStepMs, this.#lastStepMs, cheapestMs);
    // No more than a step, however long there was nothing to do: a burst would be felt.
    return this.#saved >= cheapestMs ? Math.min(this.#saved, Math.max(cheapestMs, this.#lastStepMs)) : 0;
  }

  /** A step took so long; `steps` is what it was of. */
  stepped(ms: number, steps: Want): void {
    this.#stepped = true;
    this.#lastStepMs = ms;
    if (steps === "online") this.#saved += ms * this.#limits.batchTax;
    else this.#saved = Math.max(0, this.#saved - ms);
  }

  /** A piece took so long; `pieces` is what it was of, `steps` what stood at the other side. */
  pieced(ms: number, pieces: Want, steps: Want): void {
    this.#stepped = false;
    if (pieces === "online") this.#saved += ms * this.#limits.batchTax;
    // What it took beyond its time comes off those after it: streams pay no more than the tax, whatever was predicted.
    else if (steps === "online") this.#saved -= ms;
    else this.#saved = Math.max(0, this.#saved - ms);
  }
}
