import { fairEnds, type Owed } from "./fair-completion.ts";
import type { ShiftRules } from "./shift-rules.ts";

/** What is left of one batch. */
export interface RemainingWork extends Owed {
  batchId: string;
  deadlineMs: number;
}

/** Work is planned to be done with this factor of time to spare. */
const SAFETY = 1.3;

/** Planned to be done so long before the deadline: the last lines take their time, whatever the share. */
const RESERVE_MS = 15 * 60_000;

/** Taken until a line has ended: a 7B model on a desktop's CPU. */
const UNMEASURED_TOKENS_PER_SECOND = 50;
/** The most that is asked for on that guess: enough to measure. */
const UNMEASURED_SHARE = 0.25;

export interface Requirement {
  /** The share of the engine that batch work needs from now on, outside night windows; above 1 it will be late. */
  share: number;
  /** The deadline that asks for it, Unix milliseconds. */
  deadlineMs: number;
}

/**
 * The greatest share that any deadline asks for, null without work. Each deadline must leave room for all that is computed
 * until its batch ends: its owner's batches that are due before, and as much of every other owner's. In mode `night` the
 * windows until then count as whole.
 */
export function requirement(
  rules: ShiftRules,
  backlog: readonly RemainingWork[],
  nowMs: number,
  tokensPerSecond: number | null,
): Requirement | null {
  const perMs = (tokensPerSecond ?? UNMEASURED_TOKENS_PER_SECOND) / 1000;
  const open = backlog.filter(({ remainingTokens, deadlineMs }) => remainingTokens > 0 && deadlineMs > nowMs);
  open.sort((a, b) => a.deadlineMs - b.deadlineMs);
  let greatest: Requirement | null = null;
  for (const [index, tokens] of fairEnds(open).entries()) {
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
  let night = 0;
  if (rules.mode === "night") {
    for (const { from, to, inside } of rules.windows.spans(nowMs, endMs)) if (inside) night += to - from;
  }
  const missing = workMs - night;
  return missing <= 0 ? 0 : missing / Math.max(1, endMs - nowMs - night);
}
