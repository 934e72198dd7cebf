import type { Demand } from "../engine.ts";
import { type OnlineTier, TIERS_AHEAD } from "../protocol/request.ts";
import { type Backlog, type Fit, FLEX_STEPS, type TierBacklog } from "../protocol/step.ts";

/** The engine's side of a predicted wait. */
export interface EngineLoad {
  /** As reported with the latest step. */
  backlog: Backlog;
  /** Sequences that may run at once, and tokens of one step. */
  sequences: number;
  stepTokens: number;
  /** The share by which flex may lengthen a step of online work. */
  batchTax: number;
}

type WaitView = EngineLoad & Demand;

/** The work ahead of a request. */
interface WorkAhead extends TierBacklog {
  /** Sequences that have to end before an id is free for one more. */
  short: number;
}

const INTERACTIVE: readonly OnlineTier[] = TIERS_AHEAD.default;

/** The scheduler runs one flex sequence at least after `FLEX_STEPS` steps without one. */
const LEAST_FLEX_SHARE = 1 / (FLEX_STEPS + 1);

/**
 * Milliseconds until the engine has done the work ahead of a request of this tier, finite and not negative; 0 before the step
 * model has settled. The request's own prompt does not count: it would take as long later.
 *
 * A fluid estimate from the step model: the longer of two times. Prompts ahead are computed in chunks beside the streams; where
 * ids are short, as many sequences have to end first. A waiting sequence ends after as many steps as recent answers had tokens.
 * A running one ends after at least as many, or after as many as it has written if that is more (long answers tend to go on),
 * and at most after all that it may still write. Flex gets only the time that online work leaves, and the tax. Prompts are
 * taken to be uncached.
 */
export function predictWaitMs(tier: OnlineTier, demand: Demand, load: EngineLoad): number {
  const { backlog, batchTax } = load;
  if (backlog.fit === null) return 0;
  const view = { ...load, ...demand };
  if (tier !== "flex") return workMs(workAhead(TIERS_AHEAD[tier], tier, view), backlog.fit, view);
  const online = workAhead(INTERACTIVE, tier, view);
  const own = ahead("flex", tier, view);
  // The ids that online work is short of have their time in its own estimate.
  const short = workAhead(TIERS_AHEAD.flex, tier, view).short - online.short;
  const ownShort = Math.max(short, own.waiting + own.running + 1 - backlog.flexPlaces);
  const flex = workMs({ ...own, short: ownShort }, backlog.fit, view);
  const flexShare = Math.max(1 - demand.onlineShare, batchTax / (1 + batchTax), LEAST_FLEX_SHARE);
  return workMs(online, backlog.fit, view) + flex / flexShare;
}

function workAhead(tiersAhead: readonly OnlineTier[], own: OnlineTier, view: WaitView): WorkAhead {
  const tiers = tiersAhead.map((tier) => ahead(tier, own, view));
  // A running sequence keeps its id, also before a better tier of the same kind.
  const holders = tiersAhead.includes("default") ? tiers : INTERACTIVE.map((tier) => tierOf(tier, view));
  const waiting = sum(tiers, (tier) => tier.waiting);
  const running = sum(holders, (tier) => tier.running);
  const prefill = sum(tiers, (tier) => tier.prefill);
  const written = sum(holders, (tier) => tier.written);
  const left = sum(holders, (tier) => tier.left);
  return { waiting, running, prefill, written, left, short: Math.max(0, waiting + running + 1 - view.sequences) };
}

/** The part of a tier that goes before a request of tier `own`: of this tier itself, the share that owners' alternation gives. */
function ahead(tier: OnlineTier, own: OnlineTier, view: WaitView): TierBacklog {
  const all = tierOf(tier, view);
  if (tier !== own || all.waiting === 0) return all;
  const waiting = all.waiting * view.shareAhead;
  return { ...all, waiting, prefill: (all.prefill * (all.running + waiting)) / (all.running + all.waiting) };
}

/** With the sequences that the engine has not reported yet, which count as usual ones. */
function tierOf(tier: OnlineTier, { backlog, submitted, promptTokens }: WaitView): TierBacklog {
  const reported = backlog.tiers[tier];
  const unreported = Math.max(0, submitted[tier] - reported.waiting - reported.running);
  return {
    ...reported,
    waiting: reported.waiting + unreported,
    prefill: reported.prefill + unreported * promptTokens,
  };
}

function workMs(work: WorkAhead, fit: Fit, view: WaitView): number {
  const { waiting, running, prefill, short } = work;
  const { sequences, stepTokens, answerTokens, backlog } = view;
  const { itlMs } = backlog.objectives;
  const { o, p, d, k } = fit;
  // Waiting sequences become streams while prompts are computed.
  const streams = short > 0 ? sequences : (running + Math.min(sequences, running + waiting)) / 2;
  const step = o + (d + k * backlog.kvPerDecode) * streams;
  const mixed = step + (streams > 0 && backlog.alternatingSteps ? o : 0);
  // A chunk fills what the objective leaves of a step; where streams alone take most of it, the chunk takes as long as they do.
  const beside = streams > 0 ? p * Math.min(1, mixed / Math.max(itlMs - mixed, mixed)) : 0;
  const overhead = prefill * Math.max(mixed / stepTokens, beside);
  const first = Math.min(short, running);
  const steps = (first * residualTokens(work, answerTokens) + (short - first) * answerTokens) / sequences;
  return prefill * p + Math.max(overhead, steps * step);
}

/**
 * Tokens until one id is free where all run. Answers with `left` tokens still allowed are on average in their middle: their
 * ends are spread over twice that.
 */
function residualTokens({ running, written, left }: WorkAhead, answerTokens: number): number {
  if (running === 0) return answerTokens;
  return Math.min((2 * left) / running, Math.max(answerTokens, written / running));
}

function sum(tiers: readonly TierBacklog[], count: (tier: TierBacklog) => number): number {
  return tiers.reduce((total, tier) => total + count(tier), 0);
}
