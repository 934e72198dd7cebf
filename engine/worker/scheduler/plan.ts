import type { PlanLimits } from "../cost/step-caps.ts";
import { atMostStepMs, goodChunk, SHORTEST_CHUNK, wholeTiles } from "./chunk.ts";
import { cycleMs } from "./crowd.ts";
import { type Circumstances, planLowerTiers } from "./lower-tier-plan.ts";
import { chunkable, isDecode, type Sequence } from "./scheduled-sequence.ts";
import type { PlanEntry, StepDraft } from "./step-draft.ts";
import { isOnline } from "./tiers.ts";

/**
 * Fills a draft with what one step computes. Pure. Running sequences are given by tier and arrival, and are added in this order:
 *
 * 1. online decodes;
 * 2. online prompts, in a chunk that keeps the objective between tokens;
 * 3. flex, then batch, decodes before prompts, while the step stays under the cap. Sequences that do not fit are skipped,
 *    and keep all that they hold.
 *
 * A step of streams and one of online prompts share the objective where a step is of one kind.
 */
export function planStep<S extends Sequence>(
  running: readonly S[],
  limits: PlanLimits,
  draft: StepDraft<S>,
  circumstances: Circumstances,
): PlanEntry<S>[] {
  const streamsMs = addOnline(running.filter(isOnline), limits, draft, circumstances);
  planLowerTiers(running, limits, draft, streamsMs, circumstances);
  return draft.entries;
}

/**
 * Every stream gets its next token; prompts share the chunk, by arrival.
 *
 * @returns predicted time of the next tokens of all streams, in this step or in one of their own
 */
function addOnline<S extends Sequence>(
  online: readonly S[],
  limits: PlanLimits,
  draft: StepDraft<S>,
  { kind, lowerMs, mayMiss }: Circumstances,
): number {
  const { stepTokens, mostStepMs } = limits;
  const decodes = online.filter(isDecode);
  const prefills = online.filter((sequence) => !isDecode(sequence));
  const streams = kind === "prompts" ? draft.another() : draft;
  // A prompt makes progress in every step that may have it, for any number of streams.
  const mixed = kind === null && prefills.length > 0;
  for (const sequence of decodes.slice(0, stepTokens - (mixed ? 1 : 0))) {
    if (streams.tokens > 0 && streams.msWith(sequence, 1) > mostStepMs) break;
    streams.add(sequence, 1);
  }
  const streamsMs = streams.ms;
  if (kind === "decodes") return streamsMs;
  // The step of the streams, before this one or after it, and one of lower tiers are parts of the gap between two tokens.
  const before = lowerMs + (streams === draft ? 0 : streamsMs);
  const cycle = cycleMs(prefills, { count: decodes.length, ms: streamsMs, lowerMs, mayMiss }, limits, draft.another());
  const objective = decodes.length > 0 ? cycle - before : Number.POSITIVE_INFINITY;
  const most = Math.min(objective, mostStepMs);
  for (const sequence of prefills) {
    const rows = draft.rowsFor(sequence);
    if (rows === 0) continue;
    const capacity = draft.capacityFor(sequence, stepTokens);
    const good = goodChunk(sequence, capacity, draft);
    const tiled = good > SHORTEST_CHUNK;
    const first = draft.shape.prefill === 0;
    const fewest = first ? good : SHORTEST_CHUNK - draft.shape.prefill;
    const begin = atMostStepMs(sequence, Math.min(capacity, fewest), draft, limits);
    const wanted = Math.max(begin, draft.fitting(sequence, Math.min(capacity, draft.reach.prefill), most));
    // Of a prompt after the first, less than a tile can wait for a later step.
    if (wanted <= 0 || (!first && tiled && wanted < good)) break;
    const count = tiled
      ? atMostStepMs(sequence, wholeTiles(wanted, capacity, chunkable(sequence), good), draft, limits)
      : wanted;
    draft.add(sequence, count);
    // A scored prompt that takes all scored rows leaves the rest of the step to other sequences.
    if (count < Math.min(chunkable(sequence), rows)) break;
  }
  return streamsMs;
}
