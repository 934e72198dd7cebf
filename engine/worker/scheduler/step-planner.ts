import { GapBudget } from "../cost/gap-budget.ts";
import { SavedTax } from "../cost/saved-tax.ts";
import type { PlanLimits } from "../cost/step-caps.ts";
import type { Forecast } from "../cost/step-model.ts";
import { shortestChunk } from "./chunk.ts";
import { planLowerTiers, WORTH_A_STEP } from "./lower-tier-plan.ts";
import { LowerTierStep, leastOnlineMs } from "./lower-tier-step.ts";
import { planStep } from "./plan.ts";
import { isDecode, type Sequence } from "./scheduled-sequence.ts";
import { StarvationGuard } from "./starvation-guard.ts";
import type { StepDraft } from "./step-draft.ts";
import { type StepKind, StepKindPolicy } from "./step-kind.ts";
import { hasTier, isOnline, type LowerTier } from "./tiers.ts";

/**
 * Plans a step by the rules, without regard to cells, and keeps the facts of earlier steps that the rules need:
 *
 * 1. a step of lower tiers alone, if one is due between two steps of online work;
 * 2. else the kind of the step, decodes or prompts, where it has one;
 * 3. the entries of the step (`planStep`).
 */
export class StepPlanner<S extends Sequence> {
  readonly #limits: PlanLimits;
  readonly #emptyDraft: () => StepDraft<S>;
  readonly #starvation = new StarvationGuard();
  readonly #kindPolicy = new StepKindPolicy();
  /** Of steps of lower tiers between steps of online work, as if no online work ran. */
  readonly #lowerKindPolicy = new StepKindPolicy();
  readonly #lowerStep = new LowerTierStep<S>();
  readonly #savedTax: SavedTax;
  readonly #gapBudget = new GapBudget();
  /** True when the last plan is of lower tiers alone although online work runs. */
  #between = false;

  constructor(limits: PlanLimits, emptyDraft: () => StepDraft<S>) {
    this.#limits = limits;
    this.#emptyDraft = emptyDraft;
    this.#savedTax = new SavedTax(limits.batchTax);
  }

  /**
   * @param running the running sequences that are ready, by tier and arrival
   * @param waiting the first waiting sequence, if there is one
   * @param copiedMs as in Circumstances, like overrun
   * @returns an empty plan when no sequence is ready
   */
  plan(running: readonly S[], waiting: S | undefined, copiedMs: number, overrun: number): StepDraft<S> {
    const overdue = this.#starvation.overdue(running);
    const { lowerMs } = this.#lowerStep;
    const savedMs = this.#savedTax.ms(hasTier(running, "flex"));
    const { promptsFirst } = this.#starvation;
    const circumstances = {
      overdue,
      promptsFirst,
      mayMiss: this.#gapBudget.isLeft,
      lowerMs,
      copiedMs,
      savedMs,
      overrun,
    };
    // Flex that was skipped for long is added to a step of online work instead.
    this.#between = overdue !== "flex" && this.#lowerStep.isDue(running, waiting);
    if (this.#between) {
      const onlineMs = leastOnlineMs(running, this.#limits, this.#emptyDraft());
      const lower = running.filter((sequence) => !isOnline(sequence));
      const plan = this.#planKind(this.#lowerKindPolicy, lower, overdue, (kind, draft) =>
        planLowerTiers(running, this.#limits, draft, onlineMs, { ...circumstances, kind, between: true }),
      );
      if (plan.entries.length > 0) return plan;
      this.#between = false;
    }
    return this.#planKind(this.#kindPolicy, running, overdue, (kind, draft) =>
      planStep(running, this.#limits, draft, { ...circumstances, kind, between: false }),
    );
  }

  /** Takes the plan of each step once, with the sequences that run. */
  count(running: readonly S[], planned: readonly S[], forecast: Forecast, copiedMs: number): void {
    this.#starvation.count(running, planned);
    (this.#between ? this.#lowerKindPolicy : this.#kindPolicy).count(planned);
    this.#lowerStep.count(planned, forecast.predictedMs);
    const isStream = (sequence: S) => isOnline(sequence) && isDecode(sequence);
    if (running.some(isStream)) {
      this.#gapBudget.count(planned.some(isStream), forecast.predictedMs, this.#limits.itlMs);
    } else this.#gapBudget.renew();
    this.#savedTax.count(forecast, copiedMs, this.#mostSaved(running), running.some(isOnline));
  }

  /** Chooses the kind of the step and plans it; a plan that was made for the choice is not made again. */
  #planKind(
    policy: StepKindPolicy,
    running: readonly S[],
    overdue: LowerTier | null,
    fill: (kind: StepKind | null, draft: StepDraft<S>) => void,
  ): StepDraft<S> {
    const planned = new Map<StepKind | null, StepDraft<S>>();
    const planOf = (kind: StepKind | null) => {
      const known = planned.get(kind);
      if (known !== undefined) return known;
      const draft = this.#emptyDraft();
      fill(kind, draft);
      planned.set(kind, draft);
      return draft;
    };
    return planOf(this.#emptyDraft().ofOneKind ? policy.choose(running, overdue, (kind) => planOf(kind).ms) : null);
  }

  /** Enough for the first prompt of a lower tier, or else its decode, to be worth a step: more would delay streams like a burst. */
  #mostSaved(running: readonly S[]): number {
    const lower = running.filter((sequence) => !isOnline(sequence));
    const first = lower.find((sequence) => !isDecode(sequence)) ?? lower[0];
    if (!first) return 0;
    const draft = this.#emptyDraft();
    return WORTH_A_STEP * draft.msWith(first, shortestChunk(first, draft, this.#limits));
  }
}
