/** Gaps that may miss the objective after a pause of all streams: enough for 64 prompts of 64 tokens. */
const MOST = 16;
/** Share of all gaps that may miss it. */
const SHARE = 1 / 100;

/**
 * The error budget of the objective between two tokens: crowds of prompts may spend it. Under a steady load prompts outnumber the
 * streams again and again; without a bound the streams would miss their objective each time. Counts forecasts. Pure.
 */
export class GapBudget {
  #left = MOST;
  /** Milliseconds since the last step of online streams. */
  #gapMs = 0;

  get isLeft(): boolean {
    return this.#left >= 1;
  }

  /** No stream runs. */
  renew(): void {
    this.#left = MOST;
    this.#gapMs = 0;
  }

  /** Takes each step once. @param streams whether it has the next tokens of online streams */
  count(streams: boolean, predictedMs: number, itlMs: number): void {
    this.#gapMs += predictedMs;
    if (!streams) return;
    const change = this.#gapMs > itlMs ? SHARE - 1 : SHARE;
    this.#left = Math.min(MOST, Math.max(0, this.#left + change));
    this.#gapMs = 0;
  }
}
