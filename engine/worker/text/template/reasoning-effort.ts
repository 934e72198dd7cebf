import type { ReasoningEffort, Thinking } from "../../../protocol/prompt.ts";
import { REASONING_EFFORTS } from "../../../protocol/prompt.ts";

/** A template's controls of how much its model reasons. */
export interface ThinkingTraits {
  /** Variables that turn reasoning on and off. */
  switches: string[];
  /** Values of `reasoning_effort` that it accepts, least first; empty: it has no levels. */
  levels: ReasoningEffort[];
  /** True when it renders a `thinking_budget`. */
  budget: boolean;
}

export interface ThinkingPlan {
  /** Variables of the template. */
  variables: Record<string, unknown>;
  /** Tokens after which reasoning is closed; null: the engine's default. */
  budget: number | null;
}

/** Tokens by effort, for templates with a budget and no levels; from `high` on without bound. */
const EFFORT_BUDGETS: Partial<Record<ReasoningEffort, number>> = { low: 1024, medium: 4096 };

/**
 * The template variables and the budget that follow from a request's effort and budget:
 *
 * | effort | switch | levels | `thinking_budget` | none of these |
 * |---|---|---|---|---|
 * | not given | – | – | the budget | – |
 * | none, minimal | off | the lowest | 0 | none: reasoning is closed as soon as it begins; minimal: – |
 * | low … max | on | the highest that is not above | the budget, or one by effort | the value as it is |
 *
 * A model without reasoning accepts any effort: an effort is an upper bound.
 */
export function thinkingPlan({ effort, budget }: Thinking, traits: ThinkingTraits): ThinkingPlan {
  const variables: Record<string, unknown> = {};
  const off = effort === "none" || effort === "minimal";
  if (effort !== null) {
    for (const name of traits.switches) variables[name] = !off;
    variables.reasoning_effort = levelOf(effort, off, traits.levels);
  }
  const rendered = off ? 0 : (budget ?? (effort === null ? null : (EFFORT_BUDGETS[effort] ?? null)));
  if (traits.budget && rendered !== null && Number.isFinite(rendered)) variables.thinking_budget = rendered;
  const preventable = traits.switches.length > 0 || traits.budget || traits.levels.includes("none");
  return { variables, budget: effort === "none" && !preventable ? 0 : budget };
}

function levelOf(effort: ReasoningEffort, off: boolean, levels: readonly ReasoningEffort[]): ReasoningEffort {
  // An effort above none never becomes none, even where that is the nearest level.
  const offered = off ? levels : levels.filter((level) => level !== "none");
  const rank = (level: ReasoningEffort) => REASONING_EFFORTS.indexOf(level);
  return offered.findLast((level) => rank(level) <= rank(effort)) ?? offered[0] ?? effort;
}
