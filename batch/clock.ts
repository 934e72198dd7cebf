/** The only time that the batch rooms know. */
export interface Clock {
  /** Milliseconds, monotonic, with fractions. */
  now(): number;
  /** Milliseconds since 1970. */
  epochMs(): number;
}

/** Whole seconds since 1970, as rows and the API have them. */
export function epochSeconds(clock: Clock): number {
  return Math.floor(clock.epochMs() / 1000);
}
