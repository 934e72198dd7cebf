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
  /** Most milliseconds of a step that has none; null derives it from the objective. */
  batchStepMs: number | null;
  /** Most milliseconds of any step by its forecast: a much longer one would be taken for a hang. One token is always computed. */
  mostStepMs: number;
}

/** Milliseconds that copies may take before the next step: for online sequences, and for all else. */
export interface CopyBudget {
  online: number;
  lower: number;
}

/** A forecast may be wrong by so much before a step is taken for a hang. */
const TIMEOUT_SHARE = 1 / 4;
/** Beside streams prompts get at least this share of each cycle, whatever the objective: they end in bounded time. */
const PROMPT_SHARE = 1 / 2;

/** batch-step-ms where none is set: this, or this share of the objective for the first token if that is less. */
const BATCH_STEP_MS = 25;
const TTFT_SHARE = 0.4;

/** What an engine's settings, and the objectives as they hold at each moment, allow a step. */
export function planLimits(config: EngineConfig, objectives: Readonly<Objectives>): PlanLimits {
  const { stepTokens, batchTax, batchStepMs, timeoutMs } = config;
  return {
    ...{ stepTokens, batchTax, batchStepMs, mostStepMs: TIMEOUT_SHARE * timeoutMs },
    // What is derived changes with what is measured.
    get ttftMs() {
      return objectives.ttftMs;
    },
    get itlMs() {
      return objectives.itlMs;
    },
  };
}

/**
 * How long a step of streams and prompts, or one of each, may take together: the objective, but never so little that a
 * prompt gets less than its share. Next to the objective there must be no cliff: in the shortest chunks a prompt pays for
 * the decodes and the weights with every few tokens.
 */
export function mixedStepMs(decodesMs: number, itlMs: number): number {
  return Math.max(itlMs, decodesMs / (1 - PROMPT_SHARE));
}

/**
 * How long a step with online work may take: it, the tax and what was saved of that, within the objective unless it is lost
 * already.
 *
 * @param lowerMs what a step of lower tiers alone has taken of the objective before it
 */
export function besideOnlineMs(onlineMs: number, { batchTax, itlMs }: PlanLimits, lowerMs = 0, savedMs = 0): number {
  const taxed = onlineMs * (1 + batchTax) + savedMs;
  return onlineMs > itlMs ? taxed : Math.min(taxed, itlMs - lowerMs);
}

/** What the objective leaves between two steps of streams; where these miss it by themselves, it is lost whatever comes between. */
export function betweenMs(streamsMs: number, { itlMs }: PlanLimits): number {
  return streamsMs > itlMs ? Number.POSITIVE_INFINITY : itlMs - streamsMs;
}

/**
 * How long a step without online work may take by its forecast, so that it keeps the bound when it is measured: as long an
 * online request waits that arrives at the worst instant. Never less than the cheapest step that makes progress. Where the
 * bound was left to us and that step is longer, two of it, as long as the objective for the first token has room: one
 * sequence at a time would waste most of a slow machine (a 0.5B model on one core: 17 tokens/s instead of 53 with eight).
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
