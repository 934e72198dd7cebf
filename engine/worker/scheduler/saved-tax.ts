import type { Forecast } from "./step-draft.ts";

/**
 * Steps in a row with online work, after which batch may spend it. Before, a moment without online work may come soon, in which the
 * same time computes more: steps of many decodes and long chunks.
 */
const SPEND_AFTER_STEPS = 64;

/**
 * Milliseconds that flex and batch may take of the time of online work by the tax, and have not taken. What one step leaves
 * of it is seldom enough for the shortest chunk of a prompt, what many leave is. It counts forecasts, as the caps do. Pure.
 */
export class SavedTax {
  readonly #batchTax: number;
  #ms = 0;
  #onlineSteps = 0;

  constructor(batchTax: number) {
    this.#batchTax = batchTax;
  }

  /** What may be spent: by flex at once, whose client waits. */
  ms(flex: boolean): number {
    return flex || this.#onlineSteps >= SPEND_AFTER_STEPS ? this.#ms : 0;
  }

  /**
   * Once for each step.
   *
   * @param copiedMs what copies for lower tiers took before it
   * @param most what may be saved; 0 where nothing of lower tiers runs
   * @param online whether online work runs, in this step or between its steps
   */
  count(
    { onlineMs, predictedMs }: Pick<Forecast, "onlineMs" | "predictedMs">,
    copiedMs: number,
    most: number,
    online: boolean,
  ): void {
    this.#onlineSteps = online ? this.#onlineSteps + 1 : 0;
    const change = onlineMs * (1 + this.#batchTax) - predictedMs - copiedMs;
    this.#ms = Math.min(most, Math.max(0, this.#ms + change));
  }
}
