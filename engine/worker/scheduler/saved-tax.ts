import type { Forecast } from "./step-draft.ts";

/**
 * Milliseconds that flex and batch may take of the time of online work by the tax, and have not taken. What one step leaves
 * of it is seldom enough for the shortest chunk of a prompt, what many leave is. It counts forecasts, as the caps do. Pure.
 */
export class SavedTax {
  readonly #batchTax: number;
  #ms = 0;

  constructor(batchTax: number) {
    this.#batchTax = batchTax;
  }

  get ms(): number {
    return this.#ms;
  }

  /**
   * Once for each step.
   *
   * @param copiedMs what copies for lower tiers took before it
   * @param most what may be saved; 0 where nothing of lower tiers runs
   */
  count({ onlineMs, predictedMs }: Pick<Forecast, "onlineMs" | "predictedMs">, copiedMs: number, most: number): void {
    const change = onlineMs * (1 + this.#batchTax) - predictedMs - copiedMs;
    this.#ms = Math.min(most, Math.max(0, this.#ms + change));
  }
}
