import type { PlanLimits } from "../cost/step-caps.ts";
import { chunkable, type Sequence } from "./scheduled-sequence.ts";
import { mostRows, type StepDraft } from "./step-draft.ts";

/** Fewest prompt tokens of a chunk, unless fewer are left: below it overhead is most of the cost. */
export const SHORTEST_CHUNK = 16;
/** A tile is filled, or left for another step, where it makes a token cheaper by more than this factor. */
const TILE_GAIN = 1.5;

/** Fewest tokens of a sequence that are worth being in a step. */
export function shortestChunk<S extends Sequence>(sequence: S, draft: StepDraft<S>, limits: PlanLimits): number {
  const left = Math.min(chunkable(sequence), limits.stepTokens, mostRows(sequence));
  return atMostStepMs(sequence, Math.min(goodChunk(sequence, left, draft), left), draft, limits);
}

/** Fewest tokens that a chunk of a prompt should have: a full tile where its tokens cost that much less. */
export function goodChunk<S extends Sequence>(sequence: S, left: number, draft: StepDraft<S>): number {
  const { rows } = draft.tile;
  if (rows <= SHORTEST_CHUNK || left < rows) return SHORTEST_CHUNK;
  const perToken = (count: number) => (draft.msWith(sequence, count) - draft.ms) / count;
  return perToken(SHORTEST_CHUNK) > TILE_GAIN * perToken(rows) ? rows : SHORTEST_CHUNK;
}

/** A chunk of full tiles that leaves no rest shorter than a tile: it takes the rest, or leaves it enough for one. */
export function wholeTiles(count: number, room: number, remaining: number, rows: number): number {
  const rest = remaining - count;
  if (count < rows || rest <= 0 || rest >= rows) return count;
  const shorter = remaining - rows;
  return shorter >= rows ? shorter : Math.min(room, remaining);
}

/** `count` tokens, or as few as keep a step within `mostStepMs`; at least one, unless `count` is 0. */
export function atMostStepMs<S extends Sequence>(
  sequence: S,
  count: number,
  draft: StepDraft<S>,
  { mostStepMs }: PlanLimits,
): number {
  return count <= 1 ? Math.max(0, count) : Math.max(1, draft.fitting(sequence, count, mostStepMs));
}
