import type { Forecast } from "./step-model.ts";

/**
 * Milliseconds of uninterrupted online work before batch may spend the saved tax. Before that a pause may follow soon, in which
 * the same time computes more: single decodes separate sequences that ran side by side, and each gap between their ids is a
 * pass.
 */
const SPEND_AFTER_MS = 10_000;

/**
 * Milliseconds that flex and batch may take of the time of online work by the tax, and have not taken. The rest of one step
 * is seldom enough for the shortest chunk of a prompt, the rest of many steps is. Counts forecasts, as the caps do. Pure.
 */
export class SavedTax {
  readonly #batchTax: number;
  #ms = 0;
  #onlineForMs = 0;

  constructor(batchTax: number) {
    this.#batchTax = batchTax;
  }

  /** Milliseconds that may be spent: by flex at once, because its client waits. */
  ms(flex: boolean): number {
    return flex || this.#onlineForMs >= SPEND_AFTER_MS ? this.#ms : 0;
  }

  /**
   * Takes each step once.
   *
   * @param copiedMs milliseconds of copies for lower tiers before the step
   * @param most milliseconds that may be saved; 0 where no sequence of lower tiers runs
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
