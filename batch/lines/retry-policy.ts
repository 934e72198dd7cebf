import { type ClaimedLine, LONGEST_LINE_WAIT_MS } from "../../store/types/line-row.ts";

/** Faults of the server at a line after which it is given up: it would fail the same way without end. */
export const MAX_FAULTS = 5;
/** The attempt from which on passing faults of a line are logged. */
export const LOGGED_FROM_ATTEMPT = 3;

/** Milliseconds of backoff after a line's first attempt. */
const FIRST_MS = 500;

/** Milliseconds of backoff after a line's n-th attempt met a passing fault. */
export function lineBackoff(attempt: number): number {
  return Math.min(LONGEST_LINE_WAIT_MS, FIRST_MS * 2 ** Math.min(attempt - 1, 10));
}

/** True when a line with this `not_before_ms` may be claimed; a wall clock that was set back delays none. */
export function isLineDue(notBeforeMs: number, nowMs: number): boolean {
  return notBeforeMs <= nowMs || notBeforeMs > nowMs + LONGEST_LINE_WAIT_MS;
}

/** The fields of a log line about an attempt. */
export function lineFields({ batchId, number, attempt }: ClaimedLine, reason: string) {
  return { batch: batchId, line: number, attempt, reason };
}
