import type { RequiredShare } from "./required-share.ts";
import type { ShiftPhase, ShiftRules } from "./shift-rules.ts";

interface Facts {
  rules: ShiftRules;
  nowMs: number;
  load: number;
  nextChangeAt: number | null;
  required: RequiredShare | null;
}

/** Reason of batch work's share: a text that follows "phase:". */
export function shiftReason(phase: ShiftPhase, { rules, nowMs, load, nextChangeAt, required }: Facts): string {
  const at = (ms: number) => rules.localTime.text(ms, nowMs);
  switch (phase) {
    case "always":
      return "batch work runs beside online work at any hour";
    case "off":
      return "batch work is switched off (shift: off)";
    case "night":
      return nextChangeAt === null
        ? "the night window has no end"
        : `inside the night window until ${at(nextChangeAt)}`;
    case "day": {
      const next =
        nextChangeAt === null ? "a night window, but none is configured" : `the night window at ${at(nextChangeAt)}`;
      return rules.trickle === 0 ? `waiting for ${next}` : `at ${percent(rules.trickle)} of the engine until ${next}`;
    }
    case "idle":
      return `online load is low: online work takes ${percent(load)} of the time`;
    case "busy":
      return load < rules.idleBelow
        ? "waiting until online load has been low for a while"
        : `waiting for online work to take less than ${percent(rules.idleBelow)} of the time; it takes ${percent(load)}`;
    case "deadline": {
      // Only work with a deadline leads to this phase.
      const { share, deadlineMs } = required!;
      const needed = share > 1 ? "more than all" : `at least ${percent(share)}`;
      return `the deadline at ${at(deadlineMs)} needs ${needed} of the engine`;
    }
  }
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}
