/** The share that deadlines claim. */
export interface DeadlineState {
  share: number;
  /** Unix milliseconds of its last change. */
  sinceMs: number;
}

/** Shares that deadlines may claim. Coarse, so that small changes of a forecast have no effect. */
const STEPS = [0.25, 0.5, 0.75, 1];

/**
 * Required share from which on deadlines claim. A quarter of the engine and not all of it: the throughput measured by night
 * may be four times what a busy day leaves, and the batch has to end in time even then.
 */
const CLAIM_FROM = 0.25;
/** Factor by which the required share has to fall below a step before the claimed share falls to it. */
const EASE_FACTOR = 0.8;
/** Milliseconds for which a claimed share is held at least. */
const LEAST_MS = 10 * 60_000;

/** The claimed share rises at once and falls after ten minutes at the earliest. `required` is null without work. */
export function deadlineHysteresis(
  required: number | null,
  nowMs: number,
  before: DeadlineState | null,
): DeadlineState {
  const held = before ?? { share: 0, sinceMs: nowMs };
  if (required === null) return held.share === 0 ? held : { share: 0, sinceMs: nowMs };
  const up = required >= CLAIM_FROM ? stepFor(required) : 0;
  if (up > held.share) return { share: up, sinceMs: nowMs };
  const down = required >= CLAIM_FROM * EASE_FACTOR ? stepFor(required / EASE_FACTOR) : 0;
  // A wall clock that was set back must not prolong the share.
  const lasted = nowMs < held.sinceMs ? LEAST_MS : nowMs - held.sinceMs;
  return down < held.share && lasted >= LEAST_MS ? { share: down, sinceMs: nowMs } : held;
}

function stepFor(required: number): number {
  return STEPS.find((step) => step >= required) ?? 1;
}
