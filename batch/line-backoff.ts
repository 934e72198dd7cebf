const FIRST_MS = 500;
const LAST_MS = 60_000;

/** Milliseconds that a line waits after its n-th attempt met a passing fault. */
export function lineBackoff(attempt: number): number {
  return Math.min(LAST_MS, FIRST_MS * 2 ** Math.min(attempt - 1, 10));
}
