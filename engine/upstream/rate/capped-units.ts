import { MinuteWindow, type Slice } from "./minute-window.ts";

/** Milliseconds for which the most that online requests used in a minute is kept free for them. */
const PEAK_MS = 600_000;
/** Shares of the cap that are kept free for online requests at least and at most. */
const LEAST_FREE = 0.1;
const MOST_FREE = 0.9;

/** What one request has used of a cap. */
export interface Use {
  /** Changes the number of units that it has used. */
  correct(units: number): void;
}

/**
 * A cap on the requests or tokens of a minute. Online requests may use all of it. Those of flex and batch leave free what online
 * requests used in the busiest minute of the last ten, a tenth of the cap at least.
 */
export class CappedUnits {
  readonly #cap: number;
  readonly #all = new MinuteWindow();
  readonly #lower = new MinuteWindow();
  #peak = 0;
  #peakAt = Number.NEGATIVE_INFINITY;

  /** @param cap units per minute */
  constructor(cap: number) {
    this.#cap = cap;
  }

  /** Milliseconds until a request that comes now may be sent, as far as this cap goes. */
  waitMs(online: boolean, units: number, now: number): number {
    const wait = this.#all.waitMs(units, this.#cap, now);
    return online ? wait : Math.max(wait, this.#lower.waitMs(units, this.#cap - this.#keptFree(now), now));
  }

  /** The same where so many units of online requests go before it. */
  waitBehindMs(ahead: number, units: number, now: number): number {
    const minutes = Math.max(0, Math.ceil((ahead + Math.min(units, this.#cap)) / this.#cap) - 1);
    const rest = ahead + Math.min(units, this.#cap) - minutes * this.#cap;
    return minutes * 60_000 + this.#all.waitMs(rest, this.#cap, now);
  }

  take(online: boolean, units: number, now: number): Use {
    const parts: [MinuteWindow, Slice][] = [[this.#all, this.#all.add(units, now)]];
    if (!online) parts.push([this.#lower, this.#lower.add(units, now)]);
    else this.#watchPeak(now);
    let used = units;
    return {
      correct: (counted) => {
        for (const [window, slice] of parts) window.correct(slice, counted - used);
        used = counted;
      },
    };
  }

  #watchPeak(now: number): void {
    const online = this.#all.used(now) - this.#lower.used(now);
    if (online < this.#peak && now - this.#peakAt < PEAK_MS) return;
    this.#peak = online;
    this.#peakAt = now;
  }

  #keptFree(now: number): number {
    const peak = now - this.#peakAt < PEAK_MS ? this.#peak : 0;
    return Math.min(this.#cap * MOST_FREE, Math.max(this.#cap * LEAST_FREE, peak));
  }
}
