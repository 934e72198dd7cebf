/** The only source of time outside the process's entry points. */
export interface Clock {
  /** Milliseconds, monotonic, with fractions. */
  now(): number;
  /** Milliseconds since 1970. */
  epochMs(): number;
}

/** A clock that knows whether its wall time may end anything. */
export interface DeadlineClock extends Clock {
  /** False while the wall time is only what the machine said at its start: nothing expires by it. */
  readonly settled: boolean;
}

/** Whole seconds since 1970, as rows and the API have them. */
export function epochSeconds(clock: Pick<Clock, "epochMs">): number {
  return Math.floor(clock.epochMs() / 1000);
}
