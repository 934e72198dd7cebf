/** Milliseconds for which another choice has to be the better one before it is taken. */
export const HOLD_MS = 3000;

/** A choice by load: it changes for what has been better for some time, and not for noise. */
export class SteadyChoice<T> {
  #latest: { value: T; askedMs: number; otherSinceMs: number | null } | null = null;

  /**
   * @param nowMs monotonic
   * @param propose the choice in view of the latest one, which it should prefer by a margin; undefined for none
   * @param stands false for a latest choice that is out of the question and is left at once
   */
  next(nowMs: number, propose: (latest: T | undefined) => T, stands: (latest: T) => boolean = () => true): T {
    const latest = this.#latest;
    if (latest === null || !stands(latest.value)) return this.#take(propose(undefined), nowMs);
    const proposal = propose(latest.value);
    if (proposal === latest.value) latest.otherSinceMs = null;
    else {
      // Nothing was asked in between, so nothing speaks for the latest choice any more.
      if (nowMs - latest.askedMs >= HOLD_MS) return this.#take(proposal, nowMs);
      latest.otherSinceMs ??= nowMs;
      if (nowMs - latest.otherSinceMs >= HOLD_MS) return this.#take(proposal, nowMs);
    }
    latest.askedMs = nowMs;
    return latest.value;
  }

  #take(value: T, nowMs: number): T {
    this.#latest = { value, askedMs: nowMs, otherSinceMs: null };
    return value;
  }
}
