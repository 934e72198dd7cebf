import type { EngineConfig } from "../../protocol/config.ts";
import type { Objectives } from "../../protocol/step.ts";

export interface PlanLimits {
  /** Most tokens of a step. */
  stepTokens: number;
  /** The objectives of online work, in milliseconds: time to first token, and between two tokens of a stream. */
  ttftMs: number;
  itlMs: number;
  /** The share by which flex and batch may lengthen a step that has online work. */
  batchTax: number;
  /** Most milliseconds of a step without online work; null derives it from the objective. */
  batchStepMs: number | null;
  /** Most predicted milliseconds of any step: the watchdog would take a much longer one for a hang. One token is always computed. */
  mostStepMs: number;
}

/** Milliseconds that copies may take before the next step: for online sequences, and for all else. */
export interface CopyBudget {
  online: number;
  lower: number;
}

/** The share of the watchdog's timeout that a step may take by its forecast: the rest is for wrong forecasts. */
const TIMEOUT_SHARE = 1 / 4;
/** Least share of each cycle that prompts get beside streams, under any objective: prompts end in bounded time. */
export const PROMPT_SHARE = 1 / 2;

/**
 * The default of batch-step-ms: these milliseconds, or this share of the objective for the first token if that is more. A slow
 * machine has a longer objective, and its decodes share little of a short step. Never past the second share.
 */
const BATCH_STEP_MS = 25;
const BATCH_STEP_SHARE = 1 / 20;
const TTFT_SHARE = 0.4;

/** The limits of a step from the engine's settings and the current objectives. */
export function planLimits(config: EngineConfig, objectives: Readonly<Objectives>): PlanLimits {
  const { stepTokens, batchTax, batchStepMs, timeoutMs } = config;
  return {
    ...{ stepTokens, batchTax, batchStepMs, mostStepMs: TIMEOUT_SHARE * timeoutMs },
    // Derived objectives change with the measured cost of steps.
    get ttftMs() {
      return objectives.ttftMs;
    },
    get itlMs() {
      return objectives.itlMs;
    },
  };
}

/**
 * Most milliseconds of a step of streams and prompts, or of one of each together: the objective, but never so little that a
 * prompt gets less than its share. There must be no cliff near the objective: in the shortest chunks a prompt pays for the
 * decodes and the weights with every few tokens.
 */
export function mixedStepMs(decodesMs: number, itlMs: number): number {
  return Math.max(itlMs, decodesMs / (1 - PROMPT_SHARE));
}

/**
 * Most milliseconds of a step with online work: its time, the tax and the saved tax, within the objective unless that is
 * missed already.
 *
 * @param lowerMs milliseconds that a step of lower tiers alone has taken of the objective before it
 */
export function besideOnlineMs(onlineMs: number, { batchTax, itlMs }: PlanLimits, lowerMs = 0, savedMs = 0): number {
  const taxed = onlineMs * (1 + batchTax) + savedMs;
  return onlineMs > itlMs ? taxed : Math.min(taxed, itlMs - lowerMs);
}

/** Milliseconds that the objective leaves between two steps of streams; unbounded where these miss it by themselves. */
export function betweenMs(streamsMs: number, { itlMs }: PlanLimits): number {
  return streamsMs > itlMs ? Number.POSITIVE_INFINITY : itlMs - streamsMs;
}

/**
 * Most predicted milliseconds of a step without online work, so that its measured time stays within the bound: an online
 * request that arrives at the worst instant waits that long. Never less than the cheapest step that makes progress. Where the
 * bound is derived and that step is longer than it, two such steps, if the objective for the first token has room: one
 * sequence at a time would waste most of a slow machine (a 0.5B model on one core: 17 tokens/s instead of 53 with eight).
 */
export function aloneMs(
  cheapestMs: number,
  { ttftMs, batchStepMs }: Pick<PlanLimits, "ttftMs" | "batchStepMs">,
  overrun = 1,
): number {
  const usual = Math.max(BATCH_STEP_MS, BATCH_STEP_SHARE * ttftMs);
  const derived = Math.min(cheapestMs <= usual ? usual : 2 * cheapestMs, TTFT_SHARE * ttftMs);
  return Math.max(cheapestMs, (batchStepMs ?? derived) / overrun);
}

/**
 * Most milliseconds of copies to and from host memory before a step, which they delay as other work of its kind would. Copies
 * for lower tiers and of evicted prefixes may take the tax; the prefix of an online prompt may take the time that the streams
 * leave of their objective.
 *
 * @param streamsMs predicted time of the next tokens of online streams
 * @param cheapestMs predicted time of a step of one token
 * @param awaited whether an online request runs or waits
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
