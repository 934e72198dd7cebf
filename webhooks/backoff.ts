const FIRST_MS = 5_000;
const FACTOR = 4;
const LONGEST_MS = 6 * 3_600_000;
/** An event that could not be delivered for so long is given up. */
const GIVE_UP_MS = 3 * 86_400_000;

/** Each wait varies by so much of it either way. */
const JITTER = 0.25;

/**
 * The longest that an event may wait after its n-th failure, at place n, in milliseconds; the last one stands for all
 * that follow. One whose time is further away was given it by a wall clock that was set back since.
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
 * When an event is tried again after its `attempts`-th failure (1 for the first), Unix milliseconds; null when it is given
 * up. About 5 s, 20 s, 80 s, 5 min, 21 min, 85 min, then each 6 hours, and a last time three days after the event. Each
 * wait varies, so that an endpoint that comes back is not met by all events at once. `random` is
 * from 0 to 1.
 */
export function nextAttempt(attempts: number, createdAtMs: number, nowMs: number, random: number): number | null {
  const lastMs = createdAtMs + GIVE_UP_MS;
  if (nowMs >= lastMs) return null;
  const wait = Math.min(FIRST_MS * FACTOR ** (attempts - 1), LONGEST_MS) * (1 - JITTER + 2 * JITTER * random);
  return Math.min(Math.round(nowMs + wait), lastMs);
}
