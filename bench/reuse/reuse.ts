import { Random } from "../base/random.ts";
import { call, json } from "../target/call.ts";
import type { Target } from "../target/target.ts";
import { RelatedPrompts } from "./prompts.ts";

export interface ReusePlan {
  models: readonly string[];
  /** Requests, of all models together. */
  requests: number;
  clients: number;
  seed: number;
}

/** What became of the requests of one model. */
export interface ReuseCounts {
  model: string;
  /** Choices that were compared, and requests whose client disconnected. */
  answers: number;
  left: number;
  promptTokens: number;
  cachedTokens: number;
  /** Choices that differ at a token whose two best log probabilities are closer than TIE. */
  ties: number;
  /** The largest difference of a token's log probability. */
  largestGap: number;
  /** Other choices that differ. */
  mismatches: string[];
}

interface Completion {
  choices: {
    logprobs: { tokens: string[]; token_logprobs: (number | null)[]; top_logprobs: Record<string, number>[] };
  }[];
  usage: { prompt_tokens: number; prompt_tokens_details: { cached_tokens: number } };
}

/** Sums of floating-point numbers depend on what else is in a step: below it, either of two tokens may be the better one. */
const TIE = 0.01;
/** A wrong state changes log probabilities by more. */
const MOST_GAP = 0.05;
const TIERS = ["default", "default", "priority", "flex"];

/**
 * Compares greedy answers with those of the same prompts computed anew, at the same server: `echo` with `logprobs` scores every
 * token of the prompt, so that no prefix is reused. Some requests have two choices, and some clients disconnect.
 */
export async function compareReuse(target: Target, plan: ReusePlan, onAnswer: () => void = () => {}) {
  const random = new Random(plan.seed);
  const prompts = new RelatedPrompts(random);
  const counts = new Map(plan.models.map((model) => [model, newCounts(model)]));
  const pick = <T>(from: readonly T[]): T => from[random.integer(0, from.length - 1)]!;
  const jobs = Array.from({ length: plan.requests }, () => ({
    body: {
      model: pick(plan.models),
      prompt: prompts.next(),
      max_tokens: random.integer(1, 24),
      n: random.next() < 0.1 ? 2 : 1,
      service_tier: pick(TIERS),
      temperature: 0,
      logprobs: 0,
    },
    leavesAfterMs: random.next() < 0.15 ? random.integer(1, 80) : null,
  }));
  const client = async () => {
    for (let job = jobs.shift(); job !== undefined; job = jobs.shift()) {
      const { body, leavesAfterMs } = job;
      const own = counts.get(body.model)!;
      if (leavesAfterMs !== null) {
        own.left++;
        const signal = AbortSignal.timeout(leavesAfterMs);
        await call(target, "completions", { ...json(body), signal }).catch(() => {});
        continue;
      }
      const answer = await call<Completion>(target, "completions", json(body));
      const anew = { ...body, n: 1, service_tier: "default", echo: true, logprobs: 2 };
      record(own, body.prompt, answer, await call<Completion>(target, "completions", json(anew)));
      onAnswer();
    }
  };
  await Promise.all(Array.from({ length: plan.clients }, client));
  return [...counts.values()];
}

function newCounts(model: string): ReuseCounts {
  return { model, answers: 0, left: 0, promptTokens: 0, cachedTokens: 0, ties: 0, largestGap: 0, mismatches: [] };
}

function record(counts: ReuseCounts, prompt: number[], answer: Completion, anew: Completion): void {
  const { prompt_tokens, prompt_tokens_details } = answer.usage;
  counts.promptTokens += prompt_tokens;
  counts.cachedTokens += prompt_tokens_details.cached_tokens;
  if (anew.usage.prompt_tokens_details.cached_tokens > 0) throw new Error("a prompt was not computed anew");
  const [{ logprobs: expected }] = anew.choices as [Completion["choices"][number]];
  for (const { logprobs } of answer.choices) {
    counts.answers++;
    const where = `${counts.model}: ${prompt.length} tokens, ${prompt_tokens_details.cached_tokens} of them cached`;
    const end = Math.max(logprobs.tokens.length, expected.tokens.length - prompt.length);
    for (let i = 0; i < end; i++) {
      const at = prompt.length + i;
      const gap = Math.abs((logprobs.token_logprobs[i] ?? 0) - (expected.token_logprobs[at] ?? 0));
      if (logprobs.tokens[i] === expected.tokens[at] && gap <= MOST_GAP) {
        counts.largestGap = Math.max(counts.largestGap, gap);
        continue;
      }
      const [best = 0, second = Number.NEGATIVE_INFINITY] = Object.values(expected.top_logprobs[at] ?? {});
      if (Math.abs(best - second) < TIE) counts.ties++;
      else counts.mismatches.push(`${where}; token ${i} is ${logprobs.tokens[i]}, not ${expected.tokens[at]}`);
      break;
    }
  }
}

export const REUSE_HEAD = [
  "model",
  "answers",
  "left",
  "prompt tokens",
  "of prefixes",
  "largest gap of a log probability",
  "ties",
  "mismatches",
];

export function reuseRow(counts: ReuseCounts): string[] {
  const { model, answers, left, promptTokens, cachedTokens, largestGap, ties, mismatches } = counts;
  const share = `${((100 * cachedTokens) / promptTokens).toFixed(0)} %`;
  const numbers = [answers, left, promptTokens].map(String);
  return [model, ...numbers, share, largestGap.toFixed(5), String(ties), String(mismatches.length)];
}
