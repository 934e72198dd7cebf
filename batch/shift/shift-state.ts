import { type ChangeReason, decide, type ShiftDecision } from "./decide.ts";
import type { RemainingWork } from "./required-share.ts";
import type { ShiftRules } from "./shift-rules.ts";

export interface ShiftWatchDeps {
  clock: { epochMs(): number };
  log: { info(fields: object, message: string): void };
  observer: {
    /** Counts the change and keeps the share as a gauge. */
    shiftChanged(reason: ChangeReason, decision: ShiftDecision): void;
  };
}

/** The shift over time: remembers the decision before, and tells every change once. */
export class ShiftWatch {
  /** May be replaced; the next look decides by the new ones. */
  rules: ShiftRules;
  readonly #deps: ShiftWatchDeps;
  #decision: ShiftDecision | null = null;

  constructor(rules: ShiftRules, deps: ShiftWatchDeps) {
    this.rules = rules;
    this.#deps = deps;
  }

  /** The last decision; null before the first look. */
  get decision(): ShiftDecision | null {
    return this.#decision;
  }

  /** To be called every second or so, and when a batch comes or goes. */
  look(load: number, backlog: readonly RemainingWork[], tokensPerSecond: number | null): ShiftDecision {
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
