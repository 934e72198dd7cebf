import { remaining, type Sequence } from "./sequence.ts";
import type { PlanLimits } from "./step-caps.ts";
import type { StepDraft } from "./step-draft.ts";

/** Fewest prompt tokens that a step begins with, unless fewer are left: below it overhead is most of the cost. */
export const SHORTEST_CHUNK = 16;

/** Fewest tokens of a sequence that are worth a place in a step. */
export function shortest<S extends Sequence>(sequence: S, draft: StepDraft<S>, limits: PlanLimits): number {
  return least(sequence, Math.min(SHORTEST_CHUNK, remaining(sequence), limits.stepTokens), draft, limits);
}

/** So many tokens of a sequence, or as few as keep the step from being taken for a hang; one at least, if any are wanted. */
export function least<S extends Sequence>(
  sequence: S,
  count: number,
  draft: StepDraft<S>,
  { mostStepMs }: PlanLimits,
): number {
  return count <= 1 ? Math.max(0, count) : Math.max(1, draft.fitting(sequence, count, mostStepMs));
}
