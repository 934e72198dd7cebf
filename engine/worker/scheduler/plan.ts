import { isDecode, remaining, type Sequence } from "./sequence.ts";

export interface PlanEntry<S extends Sequence> {
  sequence: S;
  /** How many of its remaining tokens this step computes. */
  count: number;
}

export interface PlanLimits {
  /** Most tokens of a step. */
  stepTokens: number;
  /** Most prompt tokens of a step in which streams wait for their next token. */
  mixedPrefill: number;
}

/** What one step computes. Pure: running sequences in, in the order of their tiers and arrival; tokens of each out. */
export type Planner = <S extends Sequence>(running: readonly S[], limits: PlanLimits) => PlanEntry<S>[];

/**
 * Every stream gets its next token; prompts get the rest of the step, the first come first, up to a bound that keeps the
 * streams' tokens coming. While more prompts wait than streams run, the prompts may fill the step: a longer step hurts
 * few, and brings many to their first token.
 */
export const planStep: Planner = (running, limits) => {
  const decodes = running.filter(isDecode);
  const prefills = running.filter((sequence) => !isDecode(sequence));
  // A prompt makes progress in every step, however many streams there are.
  const entries = decodes
    .slice(0, limits.stepTokens - (prefills.length > 0 ? 1 : 0))
    .map((sequence) => ({ sequence, count: 1 }));
  const left = limits.stepTokens - entries.length;
  let budget = prefills.length > decodes.length ? left : Math.min(left, limits.mixedPrefill);
  for (const sequence of prefills) {
    if (budget === 0) break;
    const count = Math.min(budget, remaining(sequence));
    entries.push({ sequence, count });
    budget -= count;
  }
  return entries;
};
