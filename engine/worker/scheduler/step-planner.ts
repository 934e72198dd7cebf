import { SavedTax } from "../cost/saved-tax.ts";
import type { PlanLimits } from "../cost/step-caps.ts";
import type { Forecast } from "../cost/step-model.ts";
import { shortest } from "./chunk.ts";
import { addLower, WORTH_A_STEP } from "./lower-tier-plan.ts";
import { LowerTurn, leastOnlineMs } from "./lower-tier-step.ts";
import { planStep } from "./plan.ts";
import { isDecode, isOnline, type Sequence } from "./scheduled-sequence.ts";
import { StarvationGuard } from "./starvation-guard.ts";
import type { StepDraft } from "./step-draft.ts";
import { Alternation, type StepKind } from "./step-kind.ts";

/** What the rules want of each step, whoever has the cells for it; remembers what the steps before have come to. */
export class StepPlanner<S extends Sequence> {
  readonly #limits: PlanLimits;
  readonly #split: boolean;
  readonly #emptyDraft: () => StepDraft<S>;
  readonly #patience = new StarvationGuard();
  readonly #alternation: Alternation;
  /** Of lower tiers between steps of online work, as though these were alone. */
  readonly #lowerAlternation: Alternation;
  readonly #lowerTurn = new LowerTurn<S>();
  readonly #savedTax: SavedTax;
  #between = false;

  /** @param split whether every id has cells of its own */
  constructor(limits: PlanLimits, split: boolean, emptyDraft: () => StepDraft<S>) {
    this.#limits = limits;
    this.#split = split;
    this.#emptyDraft = emptyDraft;
    this.#alternation = new Alternation(limits);
    this.#lowerAlternation = new Alternation(limits);
    this.#savedTax = new SavedTax(limits.batchTax);
  }

  /**
   * @param waiting the first that waits, if any does
   * @param copiedMs as in Circumstances, like overrun
   * @returns an empty plan when nothing runs
   */
  plan(running: readonly S[], waiting: S | undefined, copiedMs: number, overrun: number): StepDraft<S> {
    const overdue = this.#patience.overdue(running);
    const { lowerMs } = this.#lowerTurn;
    const circumstances = {
      overdue,
      lowerMs,
      copiedMs,
      savedMs: this.#savedTax.ms(running.some(({ tier }) => tier === "flex")),
      overrun,
    };
    // Flex that waited for long rides in a step of online work.
    this.#between = overdue !== "flex" && this.#lowerTurn.isNext(running, waiting);
    if (this.#between) {
      const onlineMs = leastOnlineMs(running, this.#limits, this.#emptyDraft(), this.#split);
      const lower = running.filter((sequence) => !isOnline(sequence));
      const draft = this.#ofKind(this.#lowerAlternation, lower, overdue, (kind, draft) =>
        addLower(running, this.#limits, draft, onlineMs, { ...circumstances, kind, between: true }),
      );
      if (draft.entries.length > 0) return draft;
      this.#between = false;
    }
    return this.#ofKind(this.#alternation, running, overdue, (kind, draft) =>
      planStep(running, this.#limits, draft, { ...circumstances, kind, between: false }),
    );
  }

  /** Once for each step, with those that run and its plan. */
  count(running: readonly S[], planned: readonly S[], forecast: Forecast, copiedMs: number): void {
    this.#patience.count(running, planned);
    (this.#between ? this.#lowerAlternation : this.#alternation).count(planned);
    this.#lowerTurn.count(planned, forecast.predictedMs);
    this.#savedTax.count(forecast, copiedMs, this.#mostSaved(running), running.some(isOnline));
  }

  #ofKind(
    alternation: Alternation,
    running: readonly S[],
    overdue: ReturnType<StarvationGuard["overdue"]>,
    fill: (kind: StepKind | null, draft: StepDraft<S>) => void,
  ): StepDraft<S> {
    const draftOf = (kind: StepKind | null) => {
      const draft = this.#emptyDraft();
      fill(kind, draft);
      return draft;
    };
    return draftOf(this.#split ? alternation.next(running, overdue, (kind) => draftOf(kind).ms) : null);
  }

  /** Enough for the first lower prompt, or else decode, to be worth a step of its own; more would be felt as a burst. */
  #mostSaved(running: readonly S[]): number {
    const lower = running.filter((sequence) => !isOnline(sequence));
    const first = lower.find((sequence) => !isDecode(sequence)) ?? lower[0];
    if (!first) return 0;
    const draft = this.#emptyDraft();
    return WORTH_A_STEP * draft.msWith(first, shortest(first, draft, this.#limits));
  }
}
