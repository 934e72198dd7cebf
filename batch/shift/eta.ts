import type { ShiftDecision } from "./decide.ts";
import { fairEnds } from "./fair-completion.ts";
import type { RemainingWork } from "./required-share.ts";
import type { ShiftRules } from "./shift-rules.ts";

export interface Expectation {
  batchId: string;
  /** In the order of their ends; 1 is the batch that ends first. */
  position: number;
  /** Unix milliseconds; null while nobody can tell: nothing measured yet, or batch work stands still until the load falls. */
  etaMs: number | null;
}

/** Nobody believes in a forecast that goes further. */
const FORESIGHT_MS = 14 * 86_400_000;

/** When each batch will have ended, of one owner in the given order, if the shift goes on as it does now. */
export function expectations(
  rules: ShiftRules,
  decision: Pick<ShiftDecision, "phase" | "share">,
  order: readonly Pick<RemainingWork, "batchId" | "owner" | "remainingTokens">[],
  nowMs: number,
  tokensPerSecond: number | null,
): Expectation[] {
  const ahead = shares(rules, decision, nowMs);
  const ends = fairEnds(order);
  const positions = placesOf(ends);
  return order.map(({ batchId }, index) => {
    const tokens = ends[index]!;
    const workMs = tokensPerSecond === null ? null : (tokens / tokensPerSecond) * 1000;
    return { batchId, position: positions[index]!, etaMs: workMs === null ? null : endOf(ahead, workMs) };
  });
}

/** The place of each among all, from 1 on; of equals the first comes first. */
function placesOf(ends: readonly number[]): number[] {
  const places = new Array<number>(ends.length);
  const order = [...ends.keys()].sort((a, b) => ends[a]! - ends[b]! || a - b);
  for (const [place, index] of order.entries()) places[index] = place + 1;
  return places;
}

interface Stretch {
  from: number;
  to: number;
  share: number;
}

function shares(rules: ShiftRules, { phase, share }: Pick<ShiftDecision, "phase" | "share">, nowMs: number): Stretch[] {
  const to = nowMs + FORESIGHT_MS;
  if (rules.mode !== "night") return [{ from: nowMs, to, share }];
  const outside = phase === "deadline" ? share : rules.trickle;
  return rules.windows.spans(nowMs, to).map((span) => ({ ...span, share: span.inside ? 1 : outside }));
}

/** When so much work at share 1 is done. */
function endOf(ahead: readonly Stretch[], workMs: number): number | null {
  let left = workMs;
  for (const { from, to, share } of ahead) {
    const room = (to - from) * share;
    if (share > 0 && left <= room) return Math.round(from + left / share);
    left -= room;
  }
  return null;
}
