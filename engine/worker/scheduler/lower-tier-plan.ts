import { aloneMs, besideOnlineMs, betweenMs, type PlanLimits } from "../cost/step-caps.ts";
import { shortest } from "./chunk.ts";
import type { LowerTier } from "./scheduled-sequence.ts";
import { isDecode, isOnline, remaining, type Sequence } from "./scheduled-sequence.ts";
import type { StepDraft } from "./step-draft.ts";
import type { StepKind } from "./step-kind.ts";

/** A step of lower prompts between two of streams takes at least so many times what one token takes: half is overhead. */
export const WORTH_A_STEP = 2;

/** What a plan depends on beside those who run. */
export interface Circumstances {
  /** The only kind of work that the step may have; null for both. */
  kind: StepKind | null;
  /** A lower tier that was left out for so long that it comes before the other; if flex, one goes on whatever the tax. */
  overdue: LowerTier | null;
  /** Whether the step is of lower tiers alone though streams and online prompts run (LowerTurn). */
  between: boolean;
  /** What a step of lower tiers alone has taken between one of streams and this one: time between two tokens of theirs. */
  lowerMs: number;
  /** What copies have taken of the lower tiers' share. */
  copiedMs: number;
  /** What steps of online work have left of the tax (SavedTax): a step of lower tiers between two of them may take it. */
  savedMs: number;
  /** How many times their forecast steps of lower tiers alone take (Overrun): what they may take holds for the measured step. */
  overrun: number;
}

/**
 * Adds flex and batch to a step that has its online part.
 *
 * | beside | they may take |
 * |---|---|
 * | nothing online | what a step of theirs may take alone |
 * | online work of the step's kind | the tax, within the objective; the first of them what was saved of it too |
 * | streams, in a step of prompts | what was saved of the tax, within the objective, when that is worth a step |
 * | streams and online prompts, in a step between them | the same; in other steps of one kind nothing |
 *
 * A flex prompt comes before batch decodes: these would else fill the cap for as long as they run.
 *
 * @param streamsMs what the next tokens of all online streams take, in this step or in one of their own; for a step between
 * these and online prompts, with the shortest chunk of those
 */
export function addLower<S extends Sequence>(
  running: readonly S[],
  limits: PlanLimits,
  draft: StepDraft<S>,
  streamsMs: number,
  circumstances: Circumstances,
): void {
  const { kind, overdue, between, lowerMs, copiedMs, overrun } = circumstances;
  const savedMs = circumstances.savedMs - copiedMs;
  const ofKind = (sequence: S) => kind === null || isDecode(sequence) === (kind === "decodes");
  const tiers: LowerTier[] = overdue === "batch" ? ["batch", "flex"] : ["flex", "batch"];
  const lower = tiers.flatMap((tier) => inOrder(running.filter((other) => other.tier === tier && ofKind(other))));
  const [first] = lower;
  if (first === undefined) return;
  const online = running.filter(isOnline);
  const cheapestMs = draft.msWith(first, shortest(first, draft, limits));
  const aloneCap = Math.max(cheapestMs, Math.min(limits.mostStepMs, aloneMs(cheapestMs, limits, overrun) - copiedMs));
  if (online.length === 0) {
    fill(draft, lower, limits, aloneCap);
    return;
  }
  const besideMs = Math.min(limits.mostStepMs, besideOnlineMs(draft.ms, limits, lowerMs) - copiedMs);
  const savedCap = Math.min(limits.mostStepMs, besideOnlineMs(draft.ms, limits, lowerMs, savedMs));
  // In the order of `lower` flex is first, if there is any.
  const late = overdue === "flex" && first.tier === "flex" && draft.tokens < limits.stepTokens;
  if (late) draft.add(first, Math.min(shortest(first, draft, limits), limits.stepTokens - draft.tokens));
  const others = late ? lower.slice(1) : lower;
  if (online.every(ofKind) && !between) {
    const saves = kind === "decodes" && awaitsStep(running, limits, draft, streamsMs);
    const riders = saves ? others.filter(({ tier }) => tier === "flex") : others;
    fill(draft, riders, limits, besideMs, savedCap);
  } else if (between || (kind === "prompts" && online.every(isDecode) && lowerMs === 0)) {
    const room = Math.min(aloneCap, betweenMs(streamsMs, limits));
    // What is worth a step of its own, or all there is if that is less.
    const worth = draft.another();
    fill(worth, others, limits, Math.min(room, Math.max(cheapestMs, WORTH_A_STEP * worth.msWith(first, 1))));
    if (savedMs >= worth.ms) fill(draft, others, limits, Math.min(savedMs, room));
  }
}

/**
 * Decodes before prompts, of which the first come is the first. Decodes go by runs of consecutive ids, the longest first: a
 * split cache computes a run in one pass, and where not all fit, those of as few runs as possible are to be left in.
 */
function inOrder<S extends Sequence>(sequences: readonly S[]): S[] {
  const decodes = sequences.filter(isDecode).sort((a, b) => a.id - b.id);
  const runs: S[][] = [];
  for (const sequence of decodes) {
    const run = runs.at(-1);
    if (run !== undefined && run.at(-1)!.id === sequence.id - 1) run.push(sequence);
    else runs.push([sequence]);
  }
  runs.sort((a, b) => b.length - a.length);
  return [...runs.flat(), ...sequences.filter((sequence) => !isDecode(sequence))];
}

/** Whether a flex prompt waits for a step between two of streams, which the objective allows: the tax is saved for it. */
function awaitsStep<S extends Sequence>(
  running: readonly S[],
  limits: PlanLimits,
  draft: StepDraft<S>,
  streamsMs: number,
): boolean {
  const prompt = running.find((sequence) => sequence.tier === "flex" && !isDecode(sequence));
  if (prompt === undefined) return false;
  const alone = draft.another();
  return alone.msWith(prompt, shortest(prompt, alone, limits)) <= betweenMs(streamsMs, limits);
}

/** Adds those that fit, the first of them within a cap of its own. */
function fill<S extends Sequence>(
  draft: StepDraft<S>,
  lower: readonly S[],
  limits: PlanLimits,
  capMs: number,
  firstCapMs = capMs,
): void {
  let cap = firstCapMs;
  for (const sequence of lower) {
    const fewest = shortest(sequence, draft, limits);
    const rows = draft.rowsFor(sequence);
    // Too few rows of logits are left for it, which others need none of.
    if (rows < fewest) continue;
    const reach = isDecode(sequence) ? draft.reach.decode : draft.reach.prefill;
    const fits = draft.fitting(sequence, Math.min(draft.room(sequence, limits.stepTokens), reach), cap);
    if (fits < fewest) break;
    draft.add(sequence, fits);
    if (fits < Math.min(remaining(sequence), rows)) break;
    cap = capMs;
  }
}
