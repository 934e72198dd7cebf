/** Limits the rate of received bytes; all connections of a download share one. Pure: the time is an argument. */
export class DownloadRate {
  readonly #bytesPerMs: number;
  /** Time at which the received bytes are within the rate. */
  #paidAt = 0;

  constructor(bytesPerSecond: number) {
    this.#bytesPerMs = bytesPerSecond / 1000;
  }

  /** Milliseconds that a connection has to wait after these bytes. */
  pauseMs(bytes: number, now: number): number {
    this.#paidAt = Math.max(this.#paidAt, now) + bytes / this.#bytesPerMs;
    return this.#paidAt - now;
  }
}
