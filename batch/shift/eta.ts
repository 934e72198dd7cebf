import { fairCompletion } from "./fair-completion.ts";
import type { RemainingWork } from "./required-share.ts";
import type { ShiftDecision } from "./shift-decision.ts";
import type { ShiftRules } from "./shift-rules.ts";

/** The predicted end of a batch. */
export interface Eta {
  batchId: string;
  /** In the order of their ends; 1 is the batch that ends first. */
  position: number;
  /** Unix milliseconds; null before the first measurement, and while batch work has no share and no time when it gets one. */
  etaMs: number | null;
}

/** Milliseconds that the forecast covers: later ends are not predicted. */
const HORIZON_MS = 14 * 86_400_000;

/** Predicts the end of each batch for the present share and rules; the batches of one owner run in the given order. */
export function etas(
  rules: ShiftRules,
  decision: Pick<ShiftDecision, "phase" | "share">,
  order: readonly Pick<RemainingWork, "batchId" | "owner" | "remainingTokens">[],
  nowMs: number,
  tokensPerSecond: number | null,
): Eta[] {
  const ahead = shares(rules, decision, nowMs);
  const ends = fairCompletion(order);
  const positions = positionsOf(ends);
  return order.map(({ batchId }, index) => {
    const tokens = ends[index]!;
    const workMs = tokensPerSecond === null ? null : (tokens / tokensPerSecond) * 1000;
    return { batchId, position: positions[index]!, etaMs: workMs === null ? null : endOf(ahead, workMs) };
  });
}

/** The rank of each end, from 1; equal ends keep their order. */
function positionsOf(ends: readonly number[]): number[] {
  const positions = new Array<number>(ends.length);
  const order = [...ends.keys()].sort((a, b) => ends[a]! - ends[b]! || a - b);
  for (const [rank, index] of order.entries()) positions[index] = rank + 1;
  return positions;
}

/** A span of time with one share. Unix milliseconds. */
interface ShareSpan {
  from: number;
  to: number;
  share: number;
}

function shares(
  rules: ShiftRules,
  { phase, share }: Pick<ShiftDecision, "phase" | "share">,
  nowMs: number,
): ShareSpan[] {
  const to = nowMs + HORIZON_MS;
  if (rules.mode !== "night") return [{ from: nowMs, to, share }];
  const outside = phase === "deadline" ? share : rules.trickle;
  return rules.windows.spans(nowMs, to).map((span) => ({ ...span, share: span.inside ? 1 : outside }));
}

/** End of work that takes `workMs` at share 1. */
function endOf(ahead: readonly ShareSpan[], workMs: number): number | null {
  let left = workMs;
  for (const { from, to, share } of ahead) {
    const room = (to - from) * share;
    if (share > 0 && left <= room) return Math.round(from + left / share);
    left -= room;
  }
  return null;
}
