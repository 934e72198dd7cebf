import type { ReasoningEffort, Thinking } from "../../../protocol/prompt.ts";
import { REASONING_EFFORTS } from "../../../protocol/prompt.ts";

/** The means that a template has to steer how much its model thinks. */
export interface ThinkingTraits {
  /** Variables that turn thoughts on and off. */
  switches: string[];
  /** Values of `reasoning_effort` that it takes, least first; none: it has no levels. */
  levels: ReasoningEffort[];
  /** It tells the model of a `thinking_budget`. */
  budget: boolean;
}

export interface ThinkingPlan {
  /** For the template. */
  variables: Record<string, unknown>;
  /** Tokens after which thoughts are closed; null: the engine's default. */
  budget: number | null;
}

/** For models that are told a budget and know no levels; from `high` on they may think as they like. */
const TOLD_BUDGETS: Partial<Record<ReasoningEffort, number>> = { low: 1024, medium: 4096 };

/**
 * What a request's effort and budget come to with a template:
 *
 * | effort | switch | levels | `thinking_budget` | none of these |
 * |---|---|---|---|---|
 * | not given | – | – | the budget | – |
 * | none, minimal | off | the lowest | 0 | none: thoughts are closed as soon as they begin; minimal: – |
 * | low … max | on | the highest that is not above | the budget, or one by effort | the value as it is |
 *
 * A model that does not think answers any effort: it asks for no more than what the model has.
 */
export function thinkingPlan({ effort, budget }: Thinking, traits: ThinkingTraits): ThinkingPlan {
  const variables: Record<string, unknown> = {};
  const off = effort === "none" || effort === "minimal";
  if (effort !== null) {
    for (const name of traits.switches) variables[name] = !off;
    variables.reasoning_effort = levelOf(effort, off, traits.levels);
  }
  const told = off ? 0 : (budget ?? (effort === null ? null : (TOLD_BUDGETS[effort] ?? null)));
  if (traits.budget && told !== null && Number.isFinite(told)) variables.thinking_budget = told;
  const preventable = traits.switches.length > 0 || traits.budget || traits.levels.includes("none");
  return { variables, budget: effort === "none" && !preventable ? 0 : budget };
}

function levelOf(effort: ReasoningEffort, off: boolean, levels: readonly ReasoningEffort[]): ReasoningEffort {
  // Who asks for some thought does not get none for want of a nearer level.
  const offered = off ? levels : levels.filter((level) => level !== "none");
  const rank = (level: ReasoningEffort) => REASONING_EFFORTS.indexOf(level);
  return offered.findLast((level) => rank(level) <= rank(effort)) ?? offered[0] ?? effort;
}
