import type { RemainingWork } from "./required-share.ts";
import { type ChangeReason, decide, type ShiftDecision } from "./shift-decision.ts";
import type { ShiftRules } from "./shift-rules.ts";

export interface ShiftStateDeps {
  clock: { epochMs(): number };
  log: { info(fields: object, message: string): void };
  observer: {
    /** Counts the change and keeps the share as a gauge. */
    shiftChanged(reason: ChangeReason, decision: ShiftDecision): void;
  };
}

/** The shift over time: keeps the last decision, and logs and counts each change once. */
export class ShiftState {
  /** May be replaced; the next update decides by the new rules. */
  rules: ShiftRules;
  readonly #deps: ShiftStateDeps;
  #decision: ShiftDecision | null = null;

  constructor(rules: ShiftRules, deps: ShiftStateDeps) {
    this.rules = rules;
    this.#deps = deps;
  }

  /** The last decision; null before the first update. */
  get decision(): ShiftDecision | null {
    return this.#decision;
  }

  /** Decides anew; to be called about every second. */
  update(load: number, backlog: readonly RemainingWork[], tokensPerSecond: number | null): ShiftDecision {
    const decision = decide({
      rules: this.rules,
      nowMs: this.#deps.clock.epochMs(),
      load,
      backlog,
      tokensPerSecond,
      previous: this.#decision?.state ?? null,
    });
    this.#decision = decision;
    if (decision.change !== null) {
      const { from, to, reason } = decision.change;
      this.#deps.log.info({ from, to, cause: reason }, `Shift: ${to.phase}, ${decision.reason}`);
      this.#deps.observer.shiftChanged(reason, decision);
    }
    return decision;
  }
}
