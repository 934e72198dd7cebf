import type { OnlineTier } from "../../engine/protocol/request.ts";
import { type Backlog, type Fit, FLEX_STEPS, type TierBacklog } from "../../engine/protocol/step.ts";

/** Whom a request of a tier goes behind. */
export const AHEAD: Record<OnlineTier, readonly OnlineTier[]> = {
  priority: ["priority"],
  default: ["priority", "default"],
  flex: ["priority", "default", "flex"],
};
const ONLINE: readonly OnlineTier[] = ["priority", "default"];

export interface WaitView {
  backlog: Backlog;
  /** Sequences that were submitted and have not ended, as the server counts them: the engine may not know the last yet. */
  submitted: Readonly<Record<OnlineTier, number>>;
  /** Of late requests: prompt tokens that one computes, and tokens that one sequence answers with. 0 until one did. */
  promptTokens: number;
  answerTokens: number;
  /** Sequences that may run at once, and tokens of one step. */
  sequences: number;
  stepTokens: number;
  /** The objective for the gap between two tokens, in milliseconds. */
  itlMs: number;
  /** The share by which flex may lengthen a step of online work. */
  batchTax: number;
  /** Of those of the asked tier who wait, the share, 0 to 1, that goes before it: owners take turns. */
  shareAhead: number;
  /** The share of time that online work takes of the engine, 0 to 1. */
  onlineShare: number;
}

/** What is ahead of a request. */
interface Crowd extends TierBacklog {
  /** Sequences that have to end before there is a place for one more. */
  short: number;
}

/**
 * How long a request that comes now will wait until the engine has done what goes before it, in milliseconds, finite and
 * not negative; 0 while nothing is measured yet. Its own prompt does not count: it would take as long later.
 *
 * A fluid estimate from the step model. Prompts ahead are read in chunks beside the streams; where places are short, as
 * many sequences must end first; whatever takes longer. One that has yet to start ends after as many steps as answers have
 * had tokens lately; one that runs, after at least as many, or as it has written if that is more (answers that are long
 * already tend to go on), and at most when it has all that it may write. Flex gets only the time that online work leaves,
 * and the tax. Whether prompts turn out to be cached is not foreseen.
 */
export function predictWaitMs(tier: OnlineTier, view: WaitView): number {
  const { backlog, batchTax, onlineShare } = view;
  if (backlog.fit === null) return 0;
  if (tier !== "flex") return workMs(crowd(AHEAD[tier], tier, view), backlog.fit, view);
  const online = crowd(ONLINE, tier, view);
  const own = before("flex", tier, view);
  // Places that online work is short of as well have their time in its own.
  const short = crowd(AHEAD.flex, tier, view).short - online.short;
  const ownShort = Math.max(short, own.waiting + own.running + 1 - backlog.flexPlaces);
  const flex = workMs({ ...own, short: ownShort }, backlog.fit, view);
  return workMs(online, backlog.fit, view) + flex / Math.max(1 - onlineShare, batchTax / (1 + batchTax), LEAST_SHARE);
}

/** Flex goes on with one sequence in so many steps, whatever else there is. */
const LEAST_SHARE = 1 / (FLEX_STEPS + 1);

function crowd(ahead: readonly OnlineTier[], asked: OnlineTier, view: WaitView): Crowd {
  const tiers = ahead.map((tier) => before(tier, asked, view));
  // Whoever runs keeps its place, also before a better tier of the same kind.
  const holders = ahead.includes("default") ? tiers : ONLINE.map((tier) => tierOf(tier, view));
  const waiting = sum(tiers, (tier) => tier.waiting);
  const running = sum(holders, (tier) => tier.running);
  const prefill = sum(tiers, (tier) => tier.prefill);
  const written = sum(holders, (tier) => tier.written);
  const left = sum(holders, (tier) => tier.left);
  return { waiting, running, prefill, written, left, short: Math.max(0, waiting + running + 1 - view.sequences) };
}

/** What of a tier goes before a request of the asked one: of its own those whose turn comes sooner. */
function before(tier: OnlineTier, asked: OnlineTier, view: WaitView): TierBacklog {
  const all = tierOf(tier, view);
  if (tier !== asked || all.waiting === 0) return all;
  const waiting = all.waiting * view.shareAhead;
  return { ...all, waiting, prefill: (all.prefill * (all.running + waiting)) / (all.running + all.waiting) };
}

/** With those that the engine has not told of yet, which are taken for usual ones. */
function tierOf(tier: OnlineTier, { backlog, submitted, promptTokens }: WaitView): TierBacklog {
  const told = backlog.tiers[tier];
  const untold = Math.max(0, submitted[tier] - told.waiting - told.running);
  return { ...told, waiting: told.waiting + untold, prefill: told.prefill + untold * promptTokens };
}

function workMs(crowd: Crowd, fit: Fit, view: WaitView): number {
  const { waiting, running, prefill, short } = crowd;
  const { sequences, stepTokens, itlMs, answerTokens, backlog } = view;
  const { o, p, d, k } = fit;
  // Those who wait become streams while prompts are read.
  const streams = short > 0 ? sequences : (running + Math.min(sequences, running + waiting)) / 2;
  const step = o + (d + k * backlog.kvPerDecode) * streams;
  const mixed = step + (streams > 0 && backlog.turns ? o : 0);
  // A chunk fills what the objective leaves of a step; where streams alone take most of it, it takes as long as they do.
  const beside = streams > 0 ? p * Math.min(1, mixed / Math.max(itlMs - mixed, mixed)) : 0;
  const overhead = prefill * Math.max(mixed / stepTokens, beside);
  const first = Math.min(short, running);
  const turns = (first * residualTokens(crowd, answerTokens) + (short - first) * answerTokens) / sequences;
  return prefill * p + Math.max(overhead, turns * step);
}

/**
 * Tokens that one place takes to get free where all run. Answers of which `left` is all that may be written yet are on average
 * in their middle: their ends are spread over twice that.
 */
function residualTokens({ running, written, left }: Crowd, answerTokens: number): number {
  if (running === 0) return answerTokens;
  return Math.min((2 * left) / running, Math.max(answerTokens, written / running));
}

function sum(tiers: readonly TierBacklog[], count: (tier: TierBacklog) => number): number {
  return tiers.reduce((total, tier) => total + count(tier), 0);
}
