/** The source of time everywhere but in the process's entry points. */
export interface Clock {
  /** Monotonic milliseconds, with fractions. */
  now(): number;
  /** Milliseconds since 1970. */
  epochMs(): number;
}

/** A clock with the state of its wall time: confirmed, or not yet. */
export interface DeadlineClock extends Clock {
  /** True once a second reading has confirmed the wall time; nothing expires before. */
  readonly settled: boolean;
}

/** Whole seconds since 1970, the unit of rows and the API. */
export function epochSeconds(clock: Pick<Clock, "epochMs">): number {
  return Math.floor(clock.epochMs() / 1000);
}
