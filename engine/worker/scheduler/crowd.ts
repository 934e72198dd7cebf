import { mixedStepMs, type PlanLimits } from "../cost/step-caps.ts";
import { chunkable, remaining, type Sequence } from "./scheduled-sequence.ts";
import type { StepDraft } from "./step-draft.ts";

/** The cycle of a crowd, in multiples of the usual one. */
const CROWD_CYCLE = 3;

/** The online streams beside online prompts; the last two as in Circumstances. */
export interface Streams {
  count: number;
  /** Predicted milliseconds of their next tokens. */
  ms: number;
  lowerMs: number;
  mayMiss: boolean;
}

/**
 * Most milliseconds from one token of the streams to the next while prompts are read. Usually it keeps their objective. A crowd
 * has a longer cycle: prompts that outnumber the streams, or that one longer step ends, if a step of streams delays them by more
 * than a usual cycle in sum. In short chunks the last of a crowd would wait for many steps of more and more streams; this way
 * the streams miss their objective in a few gaps, within a budget.
 *
 * @param trial an empty draft
 */
export function cycleMs<S extends Sequence>(
  prompts: readonly S[],
  streams: Streams,
  { itlMs, stepTokens }: PlanLimits,
  trial: StepDraft<S>,
): number {
  const usualMs = mixedStepMs(streams.ms, itlMs);
  // Beside longer steps of streams every prompt makes them miss the objective, by its share of the cycle.
  if (!streams.mayMiss && usualMs <= itlMs) return usualMs;
  const longerMs = CROWD_CYCLE * usualMs;
  const outnumber = prompts.length > streams.count;
  const most = longerMs - streams.lowerMs - streams.ms;
  const delayed = outnumber ? prompts.length : endedWithin(most, prompts, stepTokens, trial);
  return delayed * streams.ms > usualMs ? longerMs : usualMs;
}

/** Prompts that a step of at most `ms` ends, by arrival. */
function endedWithin<S extends Sequence>(
  ms: number,
  prompts: readonly S[],
  stepTokens: number,
  trial: StepDraft<S>,
): number {
  for (const prompt of prompts) {
    const left = remaining(prompt);
    const room = Math.min(chunkable(prompt), trial.reach.prefill, stepTokens - trial.tokens, trial.rowsFor(prompt));
    if (left > room || trial.msWith(prompt, left) > ms) break;
    trial.add(prompt, left);
  }
  return trial.entries.length;
}
