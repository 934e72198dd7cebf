import type { Forecast } from "./step-model.ts";

/**
 * Milliseconds of online work without a pause, after which batch may spend it. Before, a pause may come soon, in which the same
 * time computes more: one decode at a time takes lines that ran side by side apart, and each gap between them is a pass.
 */
const SPEND_AFTER_MS = 10_000;

/**
 * Milliseconds that flex and batch may take of the time of online work by the tax, and have not taken. What one step leaves
 * of it is seldom enough for the shortest chunk of a prompt, what many leave is. It counts forecasts, as the caps do. Pure.
 */
export class SavedTax {
  readonly #batchTax: number;
  #ms = 0;
  #onlineForMs = 0;

  constructor(batchTax: number) {
    this.#batchTax = batchTax;
  }

  /** What may be spent: by flex at once, whose client waits. */
  ms(flex: boolean): number {
    return flex || this.#onlineForMs >= SPEND_AFTER_MS ? this.#ms : 0;
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
    this.#onlineForMs = online ? this.#onlineForMs + predictedMs : 0;
    const change = onlineMs * (1 + this.#batchTax) - predictedMs - copiedMs;
    this.#ms = Math.min(most, Math.max(0, this.#ms + change));
  }
}
