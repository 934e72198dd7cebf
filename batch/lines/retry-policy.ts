import { type ClaimedLine, LONGEST_LINE_WAIT_MS } from "../../store/types/line-row.ts";

/** A line whose n-th attempt or a later one is the server's own fault is given up: it would fail the same way for ever. */
export const MAX_ATTEMPTS = 5;
/** A line that passing faults met so often is told of. */
export const TELLING_ATTEMPTS = 3;

const FIRST_MS = 500;

/** Milliseconds that a line waits after its n-th attempt met a passing fault. */
export function lineBackoff(attempt: number): number {
  return Math.min(LONGEST_LINE_WAIT_MS, FIRST_MS * 2 ** Math.min(attempt - 1, 10));
}

/** Whether a line with this `not_before_ms` may be claimed. */
export function isLineDue(notBeforeMs: number, nowMs: number): boolean {
  return notBeforeMs <= nowMs || notBeforeMs > nowMs + LONGEST_LINE_WAIT_MS;
}

/** What the log is told of an attempt. */
export function aboutLine({ batchId, number, attempt }: ClaimedLine, reason: string) {
  return { batch: batchId, line: number, attempt, reason };
}
