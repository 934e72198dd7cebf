/** Spreads what is received over time; all connections of a download share one. Pure; knows no clock. */
export class Pace {
  readonly #bytesPerMs: number;
  /** When all that was received is paid for. */
  #paidAt = 0;

  constructor(bytesPerSecond: number) {
    this.#bytesPerMs = bytesPerSecond / 1000;
  }

  /** So many milliseconds a connection is to wait behind the bytes that it has received. */
  pauseMs(bytes: number, now: number): number {
    this.#paidAt = Math.max(this.#paidAt, now) + bytes / this.#bytesPerMs;
    return this.#paidAt - now;
  }
}
