import { fairCompletion, type OwnedWork } from "./fair-completion.ts";
import type { ShiftRules } from "./shift-rules.ts";

/** The remaining work of one batch. */
export interface RemainingWork extends OwnedWork {
  batchId: string;
  /** Unix milliseconds. */
  deadlineMs: number;
}

/** Factor on the time that the work is predicted to take. */
const SAFETY = 1.3;

/** Milliseconds before the deadline at which work is planned to end: the last lines take their time at every share. */
const RESERVE_MS = 15 * 60_000;

/** Tokens per second that are assumed until lines have ended: a 7B model on a desktop's CPU. */
const UNMEASURED_TOKENS_PER_SECOND = 50;
/** The share that this assumption may require at most: enough to measure. */
const UNMEASURED_SHARE = 0.25;

export interface RequiredShare {
  /** The share of the engine that batch work needs from now on, outside night windows; above 1 the batch will be late. */
  share: number;
  /** The deadline that requires it, Unix milliseconds. */
  deadlineMs: number;
}

/**
 * The greatest share that a deadline requires; null without work. A deadline requires all tokens that are computed until its
 * batch ends: those of its owner's batches that are due before, and as many of every other owner. In mode `night` the
 * windows until then count with a share of 1.
 */
export function requiredShare(
  rules: ShiftRules,
  backlog: readonly RemainingWork[],
  nowMs: number,
  tokensPerSecond: number | null,
): RequiredShare | null {
  const perMs = (tokensPerSecond ?? UNMEASURED_TOKENS_PER_SECOND) / 1000;
  const open = backlog.filter(({ remainingTokens, deadlineMs }) => remainingTokens > 0 && deadlineMs > nowMs);
  open.sort((a, b) => a.deadlineMs - b.deadlineMs);
  let greatest: RequiredShare | null = null;
  for (const [index, tokens] of fairCompletion(open).entries()) {
    const { deadlineMs } = open[index]!;
    const share = neededShare(rules, (SAFETY * tokens) / perMs, nowMs, deadlineMs);
    if (greatest === null || share > greatest.share) greatest = { share, deadlineMs };
  }
  if (greatest === null || tokensPerSecond !== null) return greatest;
  return { ...greatest, share: Math.min(greatest.share, UNMEASURED_SHARE) };
}

function neededShare(rules: ShiftRules, workMs: number, nowMs: number, deadlineMs: number): number {
  const endMs = deadlineMs - RESERVE_MS;
  if (endMs <= nowMs) return Math.max(1, workMs / (deadlineMs - nowMs));
  let insideMs = 0;
  if (rules.mode === "night") {
    for (const { from, to, inside } of rules.windows.spans(nowMs, endMs)) if (inside) insideMs += to - from;
  }
  const missing = workMs - insideMs;
  return missing <= 0 ? 0 : missing / Math.max(1, endMs - nowMs - insideMs);
}
