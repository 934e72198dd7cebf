import { mixedStepMs, type PlanLimits } from "../cost/step-caps.ts";
import { goodChunk, least, SHORTEST_CHUNK, wholeTiles } from "./chunk.ts";
import { addLower, type Circumstances } from "./lower-tier-plan.ts";
import { isDecode, isOnline, remaining, type Sequence } from "./scheduled-sequence.ts";
import type { PlanEntry, StepDraft } from "./step-draft.ts";

/** Where it is missed anyway, several prompts may fill the step when they are more than half as many as the streams. */
const PROMPTS_PER_LATE_STREAM = 0.5;

/**
 * What one step computes. Pure: running sequences in, in the order of their tiers and arrival; fills the draft. The order:
 *
 * 1. online decodes;
 * 2. online prompts, in a chunk that keeps the objective between tokens;
 * 3. flex, then batch, decodes before prompts, while the step stays under the cap. What doesn't fit is parked: left out,
 *    with all it holds.
 *
 * Where a step is of one kind, that of streams and that of online prompts share the objective.
 */
export function planStep<S extends Sequence>(
  running: readonly S[],
  limits: PlanLimits,
  draft: StepDraft<S>,
  circumstances: Circumstances,
): PlanEntry<S>[] {
  const streamsMs = addOnline(running.filter(isOnline), limits, draft, circumstances);
  addLower(running, limits, draft, streamsMs, circumstances);
  return draft.entries;
}

/**
 * Every stream gets its next token; prompts get the chunk, the first come first. While more prompts wait than streams
 * run, they may fill the step: a longer step hurts few, and brings many to their first token.
 *
 * @returns what the next tokens of all streams take, in this step or in one of their own
 */
function addOnline<S extends Sequence>(
  online: readonly S[],
  limits: PlanLimits,
  draft: StepDraft<S>,
  { kind, lowerMs }: Circumstances,
): number {
  const { stepTokens, itlMs, mostStepMs } = limits;
  const decodes = online.filter(isDecode);
  const prefills = online.filter((sequence) => !isDecode(sequence));
  const streams = kind === "prompts" ? draft.another() : draft;
  // A prompt makes progress in every step that may have it, however many streams there are.
  const mixed = kind === null && prefills.length > 0;
  for (const sequence of decodes.slice(0, stepTokens - (mixed ? 1 : 0))) {
    if (streams.tokens > 0 && streams.msWith(sequence, 1) > mostStepMs) break;
    streams.add(sequence, 1);
  }
  const streamsMs = streams.ms;
  if (kind === "decodes") return streamsMs;
  const late = streamsMs > itlMs;
  const few = late ? Math.max(1, decodes.length * PROMPTS_PER_LATE_STREAM) : decodes.length;
  // The step of the streams, before this one or after it, and one of lower tiers have their part of the time between two tokens.
  const before = lowerMs + (streams === draft ? 0 : streamsMs);
  const objective = prefills.length <= few ? mixedStepMs(streamsMs, itlMs) - before : Number.POSITIVE_INFINITY;
  const most = Math.min(objective, mostStepMs);
  for (const sequence of prefills) {
    const rows = draft.rowsFor(sequence);
    if (rows === 0) continue;
    const room = draft.room(sequence, stepTokens);
    const good = goodChunk(sequence, room, draft);
    const tiled = good > SHORTEST_CHUNK;
    const first = draft.shape.prefill === 0;
    const fewest = first ? good : SHORTEST_CHUNK - draft.shape.prefill;
    const begin = least(sequence, Math.min(room, fewest), draft, limits);
    const wanted = Math.max(begin, draft.fitting(sequence, Math.min(room, draft.reach.prefill), most));
    // Of a prompt after the first a piece of a tile can wait.
    if (wanted <= 0 || (!first && tiled && wanted < good)) break;
    const count = tiled ? least(sequence, wholeTiles(wanted, room, remaining(sequence), good), draft, limits) : wanted;
    draft.add(sequence, count);
    // A scored prompt that takes all scored rows leaves the rest of the step to other sequences.
    if (count < Math.min(remaining(sequence), rows)) break;
  }
  return streamsMs;
}
