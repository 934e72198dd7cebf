import type { PlanLimits } from "../cost/step-caps.ts";
import { remaining, type Sequence } from "./scheduled-sequence.ts";
import type { StepDraft } from "./step-draft.ts";

/** Fewest prompt tokens that a step begins with, unless fewer are left: below it overhead is most of the cost. */
export const SHORTEST_CHUNK = 16;
/** A tile that makes a token so many times as cheap is filled or left for another step. */
const TILE_GAIN = 1.5;

/** Fewest tokens of a sequence that are worth a place in a step. */
export function shortest<S extends Sequence>(sequence: S, draft: StepDraft<S>, limits: PlanLimits): number {
  const left = Math.min(remaining(sequence), limits.stepTokens);
  return least(sequence, Math.min(goodChunk(sequence, left, draft), left), draft, limits);
}

/** Fewest tokens of a prompt that a step should have of it: those of a tile, where they cost so much less each. */
export function goodChunk<S extends Sequence>(sequence: S, left: number, draft: StepDraft<S>): number {
  const { rows } = draft.tile;
  if (rows <= SHORTEST_CHUNK || left < rows) return SHORTEST_CHUNK;
  const perToken = (count: number) => (draft.msWith(sequence, count) - draft.ms) / count;
  return perToken(SHORTEST_CHUNK) > TILE_GAIN * perToken(rows) ? rows : SHORTEST_CHUNK;
}

/** A chunk of tiles that leaves no rest shorter than one: it takes that rest, or leaves it as much as it lacks. */
export function wholeTiles(count: number, room: number, remaining: number, rows: number): number {
  const rest = remaining - count;
  if (count < rows || rest <= 0 || rest >= rows) return count;
  const shorter = remaining - rows;
  return shorter >= rows ? shorter : Math.min(room, remaining);
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
