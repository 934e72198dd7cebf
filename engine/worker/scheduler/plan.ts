import type { Tier } from "../../protocol/request.ts";
import type { CopyBudget } from "../kv/host-memory.ts";
import type { StepKind } from "./alternation.ts";
import { isDecode, isOnline, remaining, type Sequence } from "./sequence.ts";
import type { PlanEntry, StepDraft } from "./step-draft.ts";

export interface PlanLimits {
  /** Most tokens of a step. */
  stepTokens: number;
  /** The objectives of online work, in milliseconds: time to first token, and between two tokens of a stream. */
  ttftMs: number;
  itlMs: number;
  /** The share by which flex and batch may lengthen a step that has online work. */
  batchTax: number;
  /** Most milliseconds of a step that has none; null derives it from the objective. */
  batchStepMs: number | null;
}

export type LowerTier = Extract<Tier, "flex" | "batch">;

/** Fewest prompt tokens that a step begins with, unless fewer are left: below it overhead is most of the cost. */
const SHORTEST_CHUNK = 16;
/** Where even the decodes alone miss their objective, a chunk may make a step at most so many times as long. */
const MOST_STRETCH = 8;
/** Where it is missed anyway, several prompts may fill the step when they are more than half as many as the streams. */
const PROMPTS_PER_LATE_STREAM = 0.5;
/** How fast that stretch grows with how far the objective is missed. */
const STRETCH_SLOPE = 24;

/** batch-step-ms where none is set: this, or this share of the objective for the first token if that is less. */
const BATCH_STEP_MS = 25;
const TTFT_SHARE = 0.4;

/**
 * What copies to and from host memory may take before a step, which they delay as other work of its kind would: those for
 * lower tiers, and of prefixes that give way, no more than the tax; a prefix of an online prompt, what the streams have
 * left of their objective.
 *
 * @param streamsMs what the online streams' next tokens take
 * @param cheapestMs a step of one token
 * @param awaited whether an online request is there
 * @param overrun as in Circumstances
 */
export function copyBudget(
  streamsMs: number,
  cheapestMs: number,
  awaited: boolean,
  limits: Omit<PlanLimits, "stepTokens">,
  overrun = 1,
): CopyBudget {
  const { batchTax, itlMs } = limits;
  if (streamsMs > 0) {
    const lower = batchTax * streamsMs;
    return { lower, online: Math.max(lower, itlMs - streamsMs) };
  }
  const alone = aloneMs(cheapestMs, limits, overrun);
  return { lower: awaited ? batchTax * alone : alone, online: Number.POSITIVE_INFINITY };
}

/** What a plan depends on beside those who run. */
export interface Circumstances {
  /** The only kind of work that the step may have; null for both. */
  kind: StepKind | null;
  /** A lower tier that was left out for so long that it comes before the other; if flex, one goes on whatever the tax. */
  overdue: LowerTier | null;
  /** What copies have taken of the lower tiers' share. */
  copiedMs: number;
  /** How many times their forecast steps of lower tiers alone take (Overrun): what they may take holds for the measured step. */
  overrun: number;
}

/**
 * What one step computes. Pure: running sequences in, in the order of their tiers and arrival; fills the draft. The order:
 *
 * 1. online decodes;
 * 2. online prompts, in a chunk that keeps the objective between tokens;
 * 3. flex, then batch, decodes before prompts, while the step stays under the cap. What doesn't fit is parked: left out,
 *    with all it holds.
 *
 * A flex prompt comes before batch decodes: these would else fill the cap for as long as they run. Where a step is of one
 * kind, that of streams and that of online prompts share the objective, and lower tiers wait until there is only one of them.
 */
export function planStep<S extends Sequence>(
  running: readonly S[],
  limits: PlanLimits,
  draft: StepDraft<S>,
  { kind = null, overdue = null, copiedMs = 0, overrun = 1 }: Partial<Circumstances> = {},
): PlanEntry<S>[] {
  const online = running.filter(isOnline);
  const ofKind = (sequence: S) => kind === null || isDecode(sequence) === (kind === "decodes");
  addOnline(online, limits, draft, kind);
  const tiers: LowerTier[] = overdue === "batch" ? ["batch", "flex"] : ["flex", "batch"];
  const lower = tiers.flatMap((tier) => inOrder(running.filter((other) => other.tier === tier && ofKind(other))));
  if (lower.length === 0) return draft.entries;
  const beside = online.length === 0 ? "nothing" : online.every(ofKind) ? "online" : "turns";
  addLower(lower, limits, draft, beside, { overdue, copiedMs, overrun });
  return draft.entries;
}

/**
 * Every stream gets its next token; prompts get the chunk, the first come first. While more prompts wait than streams
 * run, they may fill the step: a longer step hurts few, and brings many to their first token.
 */
function addOnline<S extends Sequence>(
  online: readonly S[],
  { stepTokens, itlMs }: PlanLimits,
  draft: StepDraft<S>,
  kind: StepKind | null,
) {
  const decodes = online.filter(isDecode);
  const prefills = online.filter((sequence) => !isDecode(sequence));
  const streams = kind === "prompts" ? draft.another() : draft;
  // A prompt makes progress in every step that may have it, however many streams there are.
  const mixed = kind === null && prefills.length > 0;
  for (const sequence of decodes.slice(0, stepTokens - (mixed ? 1 : 0))) streams.add(sequence, 1);
  if (kind === "decodes") return;
  const late = streams.ms > itlMs;
  const few = late ? Math.max(1, decodes.length * PROMPTS_PER_LATE_STREAM) : decodes.length;
  const bounded = prefills.length <= few;
  // The step of the streams, before this one or after it, has its part of the time between two tokens.
  const before = streams === draft ? 0 : streams.ms;
  const most = bounded ? mixedStepMs(streams.ms, itlMs) - before : Number.POSITIVE_INFINITY;
  for (const sequence of prefills) {
    const left = draft.room(sequence, stepTokens);
    const least = Math.min(left, SHORTEST_CHUNK - draft.shape.prefill);
    const fits = bounded ? draft.fitting(sequence, Math.min(left, draft.reach.prefill), most) : left;
    const count = Math.max(least, fits);
    if (count <= 0) break;
    draft.add(sequence, count);
    if (count < remaining(sequence)) break;
  }
}

/**
 * How long a step of streams and prompts may take. The objective, while the streams alone keep it. Where they don't, it is
 * lost whatever the chunk, and the shortest chunks would only make prompts slow too (each step costs the decodes again):
 * the worse it is missed, the longer a chunk may take, until at 1.3 times the objective a step has 1/8 of decodes. A
 * gentler slope cost a 0.5B model on one core a tenth of its throughput at 8 streams, in chunks of 16 to 66 tokens.
 */
function mixedStepMs(decodesMs: number, itlMs: number): number {
  if (decodesMs <= itlMs) return itlMs;
  return decodesMs * Math.min(MOST_STRETCH, 1 + STRETCH_SLOPE * (decodesMs / itlMs - 1));
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

/** @param beside what else runs: nothing online, online work of the same kind as the step, or streams and prompts by turns */
function addLower<S extends Sequence>(
  lower: readonly S[],
  limits: PlanLimits,
  draft: StepDraft<S>,
  beside: "nothing" | "online" | "turns",
  { overdue: late, copiedMs, overrun }: Omit<Circumstances, "kind">,
) {
  const first = lower[0]!;
  const cheapestMs = draft.msWith(first, least(first, limits));
  const caps = {
    // Alone a step always makes some progress.
    nothing: Math.max(cheapestMs, aloneMs(cheapestMs, limits, overrun) - copiedMs),
    online: besideOnlineMs(draft.ms, limits) - copiedMs,
    turns: 0,
  };
  const cap = caps[beside];
  // In the order of `lower` flex is first, if there is any.
  const overdue = beside !== "nothing" && late === "flex" && first.tier === "flex" ? first : null;
  if (overdue !== null && draft.tokens < limits.stepTokens)
    draft.add(overdue, Math.min(least(overdue, limits), limits.stepTokens - draft.tokens));
  for (const sequence of lower) {
    if (sequence === overdue) continue;
    const count = isDecode(sequence)
      ? Math.min(1, draft.reach.decode)
      : Math.min(remaining(sequence), draft.reach.prefill);
    const fits = draft.fitting(sequence, Math.min(count, draft.room(sequence, limits.stepTokens)), cap);
    if (fits < least(sequence, limits)) break;
    draft.add(sequence, fits);
    if (fits < remaining(sequence)) break;
  }
}

/** Fewest tokens of a sequence that are worth a place in a step. */
export function least(sequence: Sequence, { stepTokens }: PlanLimits): number {
  return Math.min(SHORTEST_CHUNK, remaining(sequence), stepTokens);
}

/** How long a step with online work may take: it and the tax, within the objective unless that is lost already. */
export function besideOnlineMs(onlineMs: number, { batchTax, itlMs }: PlanLimits): number {
  const taxed = onlineMs * (1 + batchTax);
  return onlineMs > itlMs ? taxed : Math.min(taxed, itlMs);
}

/**
 * How long a step without online work may take by its forecast, so that it keeps the bound when it is measured: as long an
 * online request waits that arrives at the worst instant. Never less than the cheapest step that makes progress. Where the bound was left to us and that step is longer, two of
 * it, as long as the objective for the first token has room: one sequence at a time would waste most of a slow machine (a
 * 0.5B model on one core: 17 tokens/s instead of 53 with eight).
 */
export function aloneMs(
  cheapestMs: number,
  { ttftMs, batchStepMs }: Pick<PlanLimits, "ttftMs" | "batchStepMs">,
  overrun = 1,
): number {
  const share = TTFT_SHARE * ttftMs;
  const derived = Math.min(cheapestMs <= BATCH_STEP_MS ? BATCH_STEP_MS : 2 * cheapestMs, share);
  return Math.max(cheapestMs, (batchStepMs ?? derived) / overrun);
}
