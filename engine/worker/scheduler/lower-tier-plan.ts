import { aloneMs, besideOnlineMs, betweenMs, type PlanLimits } from "../cost/step-caps.ts";
import { shortestChunk } from "./chunk.ts";
import { chunkable, isDecode, type Sequence } from "./scheduled-sequence.ts";
import type { StepDraft } from "./step-draft.ts";
import type { StepKind } from "./step-kind.ts";
import { isOnline, type LowerTier } from "./tiers.ts";

/** A step of lower prompts between two of streams takes at least this multiple of a step of one token: half is overhead. */
export const WORTH_A_STEP = 2;

/** Input of a plan beside the running sequences. */
export interface Circumstances {
  /** The only kind of work that the step may have; null where it may have both. */
  kind: StepKind | null;
  /** A lower tier that was skipped for so long that it precedes the other; one flex sequence is then computed past the tax. */
  overdue: LowerTier | null;
  /** Whether batch prompts precede batch decodes where no online work runs. */
  promptsFirst: boolean;
  /** True when the step is of lower tiers alone although streams and online prompts run (LowerTierStep). */
  between: boolean;
  /** Whether streams may miss their objective for a crowd of prompts (GapBudget). */
  mayMiss: boolean;
  /** Milliseconds of a step of lower tiers alone since the last step of streams: a part of the gap between two tokens. */
  lowerMs: number;
  /** Milliseconds of the lower tiers' share that copies have taken. */
  copiedMs: number;
  /** Milliseconds of the tax that steps of online work have left (SavedTax): a step of lower tiers between two may take them. */
  savedMs: number;
  /** The time of steps of lower tiers alone in multiples of their forecast (ForecastMargin): caps hold for the measured time. */
  overrun: number;
}

/**
 * Adds flex and batch to a step that has its online part.
 *
 * | beside | they may take |
 * |---|---|
 * | no online work | the cap of a step of lower tiers alone |
 * | online work of the step's kind | the tax, within the objective; the first of them the saved tax too |
 * | streams, in a step of prompts | the saved tax, within the objective, when that is worth a step |
 * | streams and online prompts, in a step between them | the same; in other steps of one kind nothing |
 *
 * A flex prompt precedes batch decodes, which would otherwise fill the cap for as long as they run. Without online work a
 * batch prompt does so too: a cap that has no room for its chunk beside one decode would otherwise run the lines one after the
 * other, each decode in a step of its own. Decodes that were skipped for several steps precede the prompts of one.
 *
 * @param streamsMs predicted time of the next tokens of all online streams, in this step or in one of their own; for a step
 * between these and online prompts, with the shortest chunk of the prompts
 */
export function planLowerTiers<S extends Sequence>(
  running: readonly S[],
  limits: PlanLimits,
  draft: StepDraft<S>,
  streamsMs: number,
  circumstances: Circumstances,
): void {
  const { kind, overdue, promptsFirst, between, lowerMs, copiedMs, overrun } = circumstances;
  const savedMs = circumstances.savedMs - copiedMs;
  const ofKind = (sequence: S) => kind === null || isDecode(sequence) === (kind === "decodes");
  const tiers: LowerTier[] = overdue === "batch" ? ["batch", "flex"] : ["flex", "batch"];
  const online = running.filter(isOnline);
  const lower = tiers.flatMap((tier) => {
    const inTier = running.filter((other) => other.tier === tier && ofKind(other));
    return inOrder(inTier, promptsFirst && tier === "batch" && online.length === 0);
  });
  const [first] = lower;
  if (first === undefined) return;
  const cheapestMs = draft.msWith(first, shortestChunk(first, draft, limits));
  const aloneCap = Math.max(cheapestMs, Math.min(limits.mostStepMs, aloneMs(cheapestMs, limits, overrun) - copiedMs));
  if (online.length === 0) {
    fill(draft, lower, limits, aloneCap);
    return;
  }
  const besideMs = Math.min(limits.mostStepMs, besideOnlineMs(draft.ms, limits, lowerMs) - copiedMs);
  const savedCap = Math.min(limits.mostStepMs, besideOnlineMs(draft.ms, limits, lowerMs, savedMs));
  // `lower` begins with flex, if any flex runs.
  const capacity = draft.capacityFor(first, limits.stepTokens);
  const flexIsOverdue = overdue === "flex" && first.tier === "flex" && capacity > 0;
  if (flexIsOverdue) draft.add(first, Math.min(shortestChunk(first, draft, limits), capacity));
  const others = flexIsOverdue ? lower.slice(1) : lower;
  if (online.every(ofKind) && !between) {
    const saves = kind === "decodes" && awaitsStep(running, limits, draft, streamsMs);
    const added = saves ? others.filter(({ tier }) => tier === "flex") : others;
    fill(draft, added, limits, besideMs, savedCap);
  } else if (between || (kind === "prompts" && online.every(isDecode) && lowerMs === 0)) {
    const room = Math.min(aloneCap, betweenMs(streamsMs, limits));
    // The least that is worth a step, or all there is if that is less.
    const worth = draft.another();
    fill(worth, others, limits, Math.min(room, Math.max(cheapestMs, WORTH_A_STEP * worth.msWith(first, 1))));
    if (savedMs >= worth.ms) fill(draft, others, limits, Math.min(savedMs, room));
  }
}

/**
 * Decodes before prompts, unless prompts come first; prompts by arrival. Decodes by runs of consecutive ids, the longest
 * first: in a split cache a run takes one pass, and where not all fit, as few runs as possible should be in the step.
 */
function inOrder<S extends Sequence>(sequences: readonly S[], promptsFirst: boolean): S[] {
  const decodes = sequences.filter(isDecode).sort((a, b) => a.id - b.id);
  const runs: S[][] = [];
  for (const sequence of decodes) {
    const run = runs.at(-1);
    if (run !== undefined && run.at(-1)!.id === sequence.id - 1) run.push(sequence);
    else runs.push([sequence]);
  }
  runs.sort((a, b) => b.length - a.length);
  const prompts = sequences.filter((sequence) => !isDecode(sequence));
  return promptsFirst ? [...prompts, ...runs.flat()] : [...runs.flat(), ...prompts];
}

/** Whether a flex prompt waits for a step between two of streams that the objective has room for: the tax is saved for it. */
function awaitsStep<S extends Sequence>(
  running: readonly S[],
  limits: PlanLimits,
  draft: StepDraft<S>,
  streamsMs: number,
): boolean {
  const prompt = running.find((sequence) => sequence.tier === "flex" && !isDecode(sequence));
  if (prompt === undefined) return false;
  const alone = draft.another();
  return alone.msWith(prompt, shortestChunk(prompt, alone, limits)) <= betweenMs(streamsMs, limits);
}

/** Adds the sequences that fit, the first of them within a cap of its own. */
function fill<S extends Sequence>(
  draft: StepDraft<S>,
  lower: readonly S[],
  limits: PlanLimits,
  capMs: number,
  firstCapMs = capMs,
): void {
  let cap = firstCapMs;
  for (const sequence of lower) {
    const fewest = shortestChunk(sequence, draft, limits);
    const rows = draft.rowsFor(sequence);
    // Too few rows of logits are left for this sequence; others may need none.
    if (rows < fewest) continue;
    const reach = isDecode(sequence) ? draft.reach.decode : draft.reach.prefill;
    const fits = draft.fitting(sequence, Math.min(draft.capacityFor(sequence, limits.stepTokens), reach), cap);
    if (fits < fewest) break;
    draft.add(sequence, fits);
    if (fits < Math.min(chunkable(sequence), rows)) break;
    cap = capMs;
  }
}
