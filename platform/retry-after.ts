/** Bounds of Retry-After in seconds; OpenAI's clients obey it up to 60. */
export const MIN_RETRY_AFTER = 1;
export const MAX_RETRY_AFTER = 60;

/** Whole seconds within the bounds, rounded up. */
export function retryAfterSeconds(ms: number): number {
  return Math.min(MAX_RETRY_AFTER, Math.max(MIN_RETRY_AFTER, Math.ceil(ms / 1000)));
}

/** Milliseconds until work is done of which a share (0 to 1) took `elapsedMs`; null before any of it is done. */
export function remainingMs(elapsedMs: number, progress: number): number | null {
  return progress > 0 ? elapsedMs * (1 / progress - 1) : null;
}
