import { Random } from "../base/random.ts";
import { median, type Spread, spread } from "../base/statistics.ts";
import { figure, spreadText } from "../base/table.ts";
import { randomUnits } from "../prompts/prompt.ts";
import { interleave } from "../target/rounds.ts";
import { type Body, stream } from "../target/stream.ts";
import type { Target } from "../target/target.ts";
import { costBaseline } from "./cost-settings.ts";
import { NEUTRAL, peerFields, type Setting } from "./settings.ts";

export interface CostPlan {
  settings: Readonly<Record<string, Setting>>;
  /** Tokens of each prompt. */
  prompt: number;
  /** Tokens that each request generates. */
  tokens: number;
  /** Requests of each repeat. */
  requests: number;
  repeats: number;
  seed: number;
}

/** A server, and a clock of the time that it uses, in milliseconds: of its CPU time, or of the day. */
export interface TimedTarget {
  target: Target;
  clock: () => number;
}

/** Milliseconds of the median request: up to its first token, and for each further one. */
export interface Times {
  first: number;
  token: number;
}

/** Times of one setting at one server, of each repeat. */
export interface SamplerCost {
  setting: string;
  label: string;
  plain: Times[];
  withSampler: Times[];
}

export interface Costs {
  costs: SamplerCost[];
  /** Reasons to doubt the figures. */
  warnings: string[];
}

/**
 * Streams one request after the other, with and without each setting, at every server, this project's first. The arms of
 * a setting are interleaved, so that a change of the machine's speed meets all of them; a first request of each is not
 * counted.
 */
export async function measureCosts(
  targets: readonly TimedTarget[],
  plan: CostPlan,
  onDone: (cost: SamplerCost) => void,
): Promise<Costs> {
  const random = new Random(plan.seed);
  const warnings: string[] = [];
  const body = (fields: Setting, tokens: number): Body => ({
    path: "completions",
    prompt: randomUnits("completions", plan.prompt, random),
    ...{ ...NEUTRAL, seed: random.integer(0, 2 ** 31), max_tokens: tokens, ...fields },
  });
  const costs: SamplerCost[] = [];
  for (const [setting, fields] of Object.entries(plan.settings)) {
    const arms = targets.flatMap((timed, i) => {
      const own = i === 0 ? fields : peerFields(fields);
      return [costBaseline(fields), own].map((sent) => ({ ...timed, sent }));
    });
    for (const { target, sent } of arms) await stream(target, body(sent, plan.tokens));
    const times = await interleave(arms, plan.repeats, async ({ target, clock, sent }) => {
      const requests: Times[] = [];
      for (let i = 0; i < plan.requests; i++) {
        const { tokens, ...request } = await timedRequest(target, clock, body(sent, plan.tokens));
        if (tokens !== plan.tokens) warnings.push(`${setting}, ${target.label}: an answer of ${tokens} tokens`);
        requests.push(request);
      }
      return medianTimes(requests);
    });
    for (const [i, { target }] of targets.entries()) {
      const cost = { setting, label: target.label, plain: times[2 * i]!, withSampler: times[2 * i + 1]! };
      costs.push(cost);
      onDone(cost);
    }
  }
  return { costs, warnings };
}

async function timedRequest(target: Target, clock: () => number, body: Body): Promise<Times & { tokens: number }> {
  const began = clock();
  let answered = Number.NaN;
  const { completionTokens } = await stream(target, body, {
    onText: () => {
      if (Number.isNaN(answered)) answered = clock();
    },
  });
  return { first: answered - began, token: (clock() - answered) / (completionTokens - 1), tokens: completionTokens };
}

function medianTimes(requests: readonly Times[]): Times {
  return { first: median(requests.map(({ first }) => first)), token: median(requests.map(({ token }) => token)) };
}

export interface AddedCost {
  /** Ratio of the times per token. */
  ratio: Spread;
  /** Microseconds per token. */
  tokenUs: Spread;
  /** Milliseconds before the first token. */
  firstMs: Spread;
}

/** What a sampler adds, in the repeats of one round each. */
export function addedCost({ plain, withSampler }: SamplerCost): AddedCost {
  const pairs = withSampler.map((times, repeat) => ({ times, plain: plain[repeat]! }));
  return {
    ratio: spread(pairs.map(({ times, plain }) => times.token / plain.token)),
    tokenUs: spread(pairs.map(({ times, plain }) => (times.token - plain.token) * 1000)),
    firstMs: spread(pairs.map(({ times, plain }) => times.first - plain.first)),
  };
}

export const COSTS_HEAD = ["setting", "server", "plain ms/token", "× plain", "added µs/token", "added ms at the first"];

export function costsRow(cost: SamplerCost): string[] {
  const { ratio, tokenUs, firstMs } = addedCost(cost);
  const plain = spread(cost.plain.map(({ token }) => token)).median;
  return [cost.setting, cost.label, figure(plain), spreadText(ratio), spreadText(tokenUs), spreadText(firstMs)];
}
