const MINUTE_MS = 60_000;
/** Milliseconds of uses that are counted as one: a window has 122 slices at most. */
const SLICE_MS = 500;

/** Uses within a slice, which count from its start until a minute after its end. */
export interface Slice {
  start: number;
  units: number;
}

/** Units that were used within the last minute. No span of a minute has more than what was found to be free. */
export class MinuteWindow {
  /** From the oldest to the latest. */
  #slices: Slice[] = [];
  #used = 0;

  used(now: number): number {
    this.#expire(now);
    return this.#used;
  }

  /** @return its slice, for corrections */
  add(units: number, now: number): Slice {
    this.#expire(now);
    const last = this.#slices.at(-1);
    const slice = last !== undefined && now < last.start + SLICE_MS ? last : { start: now, units: 0 };
    if (slice !== last) this.#slices.push(slice);
    this.correct(slice, units);
    return slice;
  }

  /** Changes what a slice has used; without effect once it has left the window. */
  correct(slice: Slice, units: number): void {
    if (!this.#slices.includes(slice)) return;
    slice.units += units;
    this.#used += units;
  }

  /** Milliseconds until so many units fit beside those of a minute. More than `most` fit alone. */
  waitMs(units: number, most: number, now: number): number {
    let excess = this.used(now) + Math.min(units, most) - most;
    if (excess <= 0) return 0;
    for (const slice of this.#slices) {
      excess -= slice.units;
      if (excess <= 0) return endOf(slice) - now;
    }
    return 0;
  }

  #expire(now: number): void {
    while (this.#slices.length > 0 && endOf(this.#slices[0]!) <= now) this.#used -= this.#slices.shift()!.units;
  }
}

function endOf({ start }: Slice): number {
  return start + SLICE_MS + MINUTE_MS;
}
