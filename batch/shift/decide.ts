import { type Hurry, nextHurry } from "./deadline-hysteresis.ts";
import { nextTrough, type Trough } from "./idle-hysteresis.ts";
import { type RemainingWork, requirement } from "./required-share.ts";
import { shiftReason } from "./shift-reason.ts";
import type { ShiftPhase, ShiftRules } from "./shift-rules.ts";

export interface ShiftInput {
  rules: ShiftRules;
  nowMs: number;
  /** Share of time, 0..1, that online work alone took of the engine over the last half minute. */
  load: number;
  backlog: readonly RemainingWork[];
  /** Batch tokens per second with all of the engine; null before anything was measured. */
  tokensPerSecond: number | null;
  /** What the decision before returned; null for the first. */
  previous: ShiftState | null;
}

export interface ShiftDecision {
  /** 0..1 of the engine, in steps. */
  share: number;
  phase: ShiftPhase;
  /** For people, such as "waiting for the night window at 19:00 Europe/Berlin". Names no batch. */
  reason: string;
  /** When a window next opens or closes, if that decides: Unix milliseconds. */
  nextChangeAt: number | null;
  /** Set when phase or share differ from the decision before, and at the first. */
  change: ShiftChange | null;
  /** To be handed to the next decision. */
  state: ShiftState;
}

export interface ShiftState {
  phase: ShiftPhase;
  share: number;
  trough: Trough;
  hurry: Hurry;
}

export const CHANGE_REASONS = [
  "start",
  "window_opened",
  "window_closed",
  "load_fell",
  "load_rose",
  "deadline_nears",
  "deadline_eased",
] as const;
export type ChangeReason = (typeof CHANGE_REASONS)[number];

export interface ShiftChange {
  from: Pick<ShiftState, "phase" | "share"> | null;
  to: Pick<ShiftState, "phase" | "share">;
  reason: ChangeReason;
}

/**
 * How much of the engine batch work may use, and why. What the mode gives is the least; a deadline may ask for more.
 *
 * | mode | phase | share |
 * |---|---|---|
 * | always | always | 1 |
 * | night | night, inside a window | 1 |
 * | night | day, outside | trickle |
 * | idle | idle, online load low | 1 |
 * | idle | busy, online load high | 0 |
 * | night, idle | deadline, when the forecast needs more than the above | 0.25, 0.5, 0.75, 1 |
 * | off | off: no deadline moves it, the batch expires | 0 |
 *
 * Whatever the share, online work goes first in every step: the share bounds what batch work may take of the rest.
 *
 * Pure: the same input always gives the same decision.
 */
export function decide(input: ShiftInput): ShiftDecision {
  const { rules, nowMs, load, backlog, previous } = input;
  const hurries = rules.mode === "night" || rules.mode === "idle";
  const required = hurries ? requirement(rules, backlog, nowMs, input.tokensPerSecond) : null;
  const trough = nextTrough(rules.idleBelow, load, nowMs, previous?.trough ?? null);
  const hurry = nextHurry(required?.share ?? null, nowMs, previous?.hurry ?? null);
  const usual = usualShare(rules, nowMs, trough);
  const to = hurry.share > usual.share ? { phase: "deadline" as const, share: hurry.share } : usual;

  const nextChangeAt = rules.mode === "night" ? rules.windows.nextChange(nowMs) : null;
  return {
    ...to,
    reason: shiftReason(to.phase, { rules, nowMs, load, nextChangeAt, required }),
    nextChangeAt,
    change: changed(previous, to),
    state: { ...to, trough, hurry },
  };
}

function usualShare(rules: ShiftRules, nowMs: number, trough: Trough): { phase: ShiftPhase; share: number } {
  switch (rules.mode) {
    case "always":
      return { phase: "always", share: 1 };
    case "night":
      return rules.windows.inside(nowMs) ? { phase: "night", share: 1 } : { phase: "day", share: rules.trickle };
    case "idle":
      return trough.open ? { phase: "idle", share: 1 } : { phase: "busy", share: 0 };
    case "off":
      return { phase: "off", share: 0 };
  }
}

function changed(from: ShiftState | null, to: Pick<ShiftState, "phase" | "share">): ShiftChange | null {
  if (from === null) return { from, to, reason: "start" };
  if (from.phase === to.phase && from.share === to.share) return null;
  return { from: { phase: from.phase, share: from.share }, to, reason: changeReason(from, to) };
}

function changeReason(from: ShiftState, to: Pick<ShiftState, "phase" | "share">): ChangeReason {
  if (to.phase === "night") return "window_opened";
  if (to.phase === "idle") return "load_fell";
  if (from.phase === "night") return "window_closed";
  if (from.phase === "idle") return "load_rose";
  return to.share > from.share ? "deadline_nears" : "deadline_eased";
}
