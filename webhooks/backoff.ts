const FIRST_MS = 5_000;
const FACTOR = 4;
const LONGEST_MS = 6 * 3_600_000;
/** Milliseconds after which an undelivered event is abandoned. */
const GIVE_UP_MS = 3 * 86_400_000;

/** Random variation of each wait, as a fraction either way. */
const JITTER = 0.25;

/**
 * Longest wait in milliseconds after the n-th failure, at index n; the last entry is for all further failures. A due
 * time further ahead was computed before the wall clock was set back.
 */
export const LONGEST_WAITS_MS: readonly number[] = longestWaits();

function longestWaits(): number[] {
  const waits = [0];
  for (let wait = FIRST_MS; waits.at(-1)! < LONGEST_MS; wait *= FACTOR) {
    waits.push(Math.min(wait, LONGEST_MS) * (1 + JITTER));
  }
  return waits;
}

/**
 * Unix milliseconds of the next attempt after the `attempts`-th failure (from 1); null when the event is abandoned. The
 * waits are about 5 s, 20 s, 80 s, 5 min, 21 min, 85 min, then 6 hours each, and the last attempt is three days after
 * the event. Waits vary randomly, so that an endpoint that recovers does not receive all events together. `random` is
 * from 0 to 1.
 */
export function nextAttempt(attempts: number, createdAtMs: number, nowMs: number, random: number): number | null {
  const lastMs = createdAtMs + GIVE_UP_MS;
  if (nowMs >= lastMs) return null;
  const wait = Math.min(FIRST_MS * FACTOR ** (attempts - 1), LONGEST_MS) * (1 - JITTER + 2 * JITTER * random);
  return Math.min(Math.round(nowMs + wait), lastMs);
}
