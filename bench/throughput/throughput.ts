import { Random } from "../base/random.ts";
import { type Spread, spread } from "../base/statistics.ts";
import { figure, spreadText } from "../base/table.ts";
import { type Endpoint, promptMaker, randomUnits } from "../prompts/prompt.ts";
import { closedLoop, type LoadResult } from "../target/load.ts";
import { interleave } from "../target/rounds.ts";
import { stream } from "../target/stream.ts";
import type { Target } from "../target/target.ts";

export interface ThroughputPlan {
  streams: number[];
  /** Tokens of each prompt, and how many of them all prompts share. */
  prompt: number;
  shared: number;
  /** Tokens that each request generates, past end tokens. */
  tokens: number;
  /** Requests per stream; null for 8 in all, and at least two each up to 8 streams. */
  requests: number | null;
  repeats: number;
  endpoint: Endpoint;
  /** Schema of every answer; an answer that ends early has fewer tokens. Null for free answers. */
  jsonSchema: Record<string, unknown> | null;
  seed: number;
}

/** Repeats of one server at one number of streams. */
export interface ThroughputArm {
  streams: number;
  label: string;
  repeats: LoadResult[];
}

const WARM_PROMPT = 16;
const WARM_TOKENS = 4;

/** Measures every server at every number of streams, interleaved; `onDone` receives each repeat. */
export async function measureThroughput(
  targets: Target[],
  plan: ThroughputPlan,
  onDone: (streams: number, label: string, result: LoadResult) => void,
): Promise<ThroughputArm[]> {
  const random = new Random(plan.seed);
  const makers = new Map<Target, Awaited<ReturnType<typeof promptMaker>>>();
  for (const target of targets) makers.set(target, await promptMaker(plan.endpoint, target, random));
  const shared = plan.shared > 0 ? randomUnits(plan.endpoint, plan.shared, random) : null;
  const arms: ThroughputArm[] = [];
  for (const streams of plan.streams) {
    const requests = plan.requests ?? Math.max(streams > 8 ? 1 : 2, Math.ceil(8 / streams));
    const load = (target: Target, prompt: number, tokens: number, each: number, prefix: typeof shared) => {
      const held = plan.jsonSchema === null ? {} : { json_schema: plan.jsonSchema };
      const settings = { max_tokens: tokens, temperature: 0, ignore_eos: true, ...held };
      // drawn before the measurement, with new prompts for every load
      const bodies = Array.from({ length: streams * each }, () => makers.get(target)!(prompt, prefix, random));
      return closedLoop(streams, each, (client, i) => stream(target, { ...bodies[client * each + i]!, ...settings }));
    };
    // touches each sequence's cells outside of the measurement
    for (const target of targets) await load(target, Math.min(WARM_PROMPT, plan.prompt), WARM_TOKENS, 1, null);
    const results = await interleave(targets, plan.repeats, async (target) => {
      const result = await load(target, plan.prompt, plan.tokens, requests, shared);
      onDone(streams, target.label, result);
      return result;
    });
    arms.push(...targets.map(({ label }, i) => ({ streams, label, repeats: results[i]! })));
  }
  return arms;
}

/** One arm against the peer with the highest median at this number of streams. */
export interface Comparison {
  streams: number;
  peer: string;
  /** Ratio of the medians of tokens/s, with the minimum and maximum ratio of two repeats of the same round. */
  ratio: Spread;
}

/** Null without a peer. */
export function compare(ours: ThroughputArm, peers: readonly ThroughputArm[]): Comparison | null {
  const rate = (arm: ThroughputArm) => spread(arm.repeats.map((repeat) => repeat.tokensPerSecond)).median;
  const best = peers.toSorted((a, b) => rate(b) - rate(a))[0];
  if (best === undefined) return null;
  const paired = ours.repeats.map((repeat, i) => repeat.tokensPerSecond / best.repeats[i]!.tokensPerSecond);
  return {
    streams: ours.streams,
    peer: best.label,
    ratio: { ...spread(paired), median: rate(ours) / rate(best) },
  };
}

export const THROUGHPUT_HEAD = [
  "streams",
  "server",
  "tokens/s",
  "× best peer",
  "TTFT p50 ms",
  "TTFT p99 ms",
  "ITL p50 ms",
  "ITL p99 ms",
  "client CPU",
];

/** Table rows at one number of streams; the first `ours` arms are this server's. */
export function throughputRows(arms: readonly ThroughputArm[], ours = 1): string[][] {
  return arms.map((arm, i) => {
    const { streams, label, repeats } = arm;
    const comparison = i < ours ? compare(arm, arms.slice(ours)) : null;
    const over = (value: (result: LoadResult) => number) => spread(repeats.map(value));
    return [
      String(streams),
      label,
      spreadText(over((result) => result.tokensPerSecond)),
      comparison ? spreadText(comparison.ratio) : "",
      spreadText(over((result) => result.ttft.p50)),
      spreadText(over((result) => result.ttft.p99)),
      spreadText(over((result) => result.itl.p50)),
      spreadText(over((result) => result.itl.p99)),
      figure(over((result) => result.clientCpu).max),
    ];
  });
}
