/** The share that deadlines have claimed, and since when. */
export interface Hurry {
  share: number;
  sinceMs: number;
}

/** Coarse, so that a forecast that moves a little moves nothing. */
const STEPS = [0.25, 0.5, 0.75, 1];

/**
 * Deadlines claim when they need a quarter of the engine, not when they need all: what was measured by night may be four
 * times what a busy day leaves, and the batch must end in time even then.
 */
const CLAIM_FROM = 0.25;
/** What is needed must fall so far below a step before the share does. */
const EASE_FACTOR = 0.8;
const LEAST_MS = 10 * 60_000;

/** Rises at once, falls after ten minutes at the earliest; `required` null means that there is no work. */
export function nextHurry(required: number | null, nowMs: number, before: Hurry | null): Hurry {
  const held = before ?? { share: 0, sinceMs: nowMs };
  if (required === null) return held.share === 0 ? held : { share: 0, sinceMs: nowMs };
  const up = required >= CLAIM_FROM ? stepFor(required) : 0;
  if (up > held.share) return { share: up, sinceMs: nowMs };
  const down = required >= CLAIM_FROM * EASE_FACTOR ? stepFor(required / EASE_FACTOR) : 0;
  // A wall clock that was set back must not hold the share for longer.
  const lasted = nowMs < held.sinceMs ? LEAST_MS : nowMs - held.sinceMs;
  return down < held.share && lasted >= LEAST_MS ? { share: down, sinceMs: nowMs } : held;
}

function stepFor(required: number): number {
  return STEPS.find((step) => step >= required) ?? 1;
}
