import { type DeadlineState, deadlineHysteresis } from "./deadline-hysteresis.ts";
import { type IdleState, idleHysteresis } from "./idle-hysteresis.ts";
import { type RemainingWork, requiredShare } from "./required-share.ts";
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
  /** The state of the previous decision; null for the first. */
  previous: DecisionState | null;
}

export interface ShiftDecision {
  /** 0..1 of the engine, in steps. */
  share: number;
  phase: ShiftPhase;
  /** Text such as "waiting for the night window at 19:00 Europe/Berlin". Names no batch. */
  reason: string;
  /** Time at which a window next opens or closes, Unix milliseconds; null in other modes than night. */
  nextChangeAt: number | null;
  /** Null where phase and share are those of the previous decision. */
  change: ShiftChange | null;
  /** Input of the next decision. */
  state: DecisionState;
}

export interface DecisionState {
  phase: ShiftPhase;
  share: number;
  idle: IdleState;
  deadline: DeadlineState;
}

export const CHANGE_REASONS = [
  "start",
  "rules_changed",
  "window_opened",
  "window_closed",
  "load_fell",
  "load_rose",
  "deadline_nears",
  "deadline_eased",
] as const;
export type ChangeReason = (typeof CHANGE_REASONS)[number];

export interface ShiftChange {
  from: Pick<DecisionState, "phase" | "share"> | null;
  to: Pick<DecisionState, "phase" | "share">;
  reason: ChangeReason;
}

/**
 * The share of the engine that batch work may use, and its reason. The mode gives the least share; deadlines may raise it.
 *
 * | mode | phase | share |
 * |---|---|---|
 * | always | always | 1 |
 * | night | night, inside a window | 1 |
 * | night | day, outside | trickle |
 * | idle | idle, online load low | 1 |
 * | idle | busy, online load high | 0 |
 * | night, idle | deadline, where one requires more than the above | 0.25, 0.5, 0.75, 1 |
 * | off | off: no deadline raises it, the batch expires | 0 |
 *
 * Online work precedes batch work in every step, at every share. The share bounds what batch work may take of the rest.
 *
 * Pure: the same input always gives the same decision.
 */
export function decide(input: ShiftInput): ShiftDecision {
  const { rules, nowMs, load, backlog, previous } = input;
  const raises = rules.mode === "night" || rules.mode === "idle";
  const required = raises ? requiredShare(rules, backlog, nowMs, input.tokensPerSecond) : null;
  const idle = idleHysteresis(rules.idleBelow, load, nowMs, previous?.idle ?? null);
  const deadline = deadlineHysteresis(required?.share ?? null, nowMs, previous?.deadline ?? null);
  const usual = usualShare(rules, nowMs, idle);
  const to = deadline.share > usual.share ? { phase: "deadline" as const, share: deadline.share } : usual;

  const nextChangeAt = rules.mode === "night" ? rules.windows.nextChange(nowMs) : null;
  return {
    ...to,
    reason: shiftReason(to.phase, { rules, nowMs, load, nextChangeAt, required }),
    nextChangeAt,
    change: changed(previous, to),
    state: { ...to, idle, deadline },
  };
}

function usualShare(rules: ShiftRules, nowMs: number, { idle }: IdleState): { phase: ShiftPhase; share: number } {
  switch (rules.mode) {
    case "always":
      return { phase: "always", share: 1 };
    case "night":
      return rules.windows.inside(nowMs) ? { phase: "night", share: 1 } : { phase: "day", share: rules.trickle };
    case "idle":
      return idle ? { phase: "idle", share: 1 } : { phase: "busy", share: 0 };
    case "off":
      return { phase: "off", share: 0 };
  }
}

function changed(from: DecisionState | null, to: Pick<DecisionState, "phase" | "share">): ShiftChange | null {
  if (from === null) return { from, to, reason: "start" };
  if (from.phase === to.phase && from.share === to.share) return null;
  return { from: { phase: from.phase, share: from.share }, to, reason: changeReason(from, to) };
}

/** The mode of a phase; every mode can have the phase `deadline`. */
const MODE_OF: Partial<Record<ShiftPhase, ShiftRules["mode"]>> = {
  always: "always",
  night: "night",
  day: "night",
  idle: "idle",
  busy: "idle",
  off: "off",
};

function changeReason(from: DecisionState, to: Pick<DecisionState, "phase" | "share">): ChangeReason {
  const modes = [MODE_OF[from.phase], MODE_OF[to.phase]];
  if (!modes.includes(undefined) && modes[0] !== modes[1]) return "rules_changed";
  if (to.phase === "night") return "window_opened";
  if (to.phase === "idle") return "load_fell";
  if (from.phase === "night") return "window_closed";
  if (from.phase === "idle") return "load_rose";
  return to.share > from.share ? "deadline_nears" : "deadline_eased";
}
