import { Random } from "../base/random.ts";
import { type Spread, spread } from "../base/statistics.ts";
import { spreadText } from "../base/table.ts";
import { type Endpoint, promptMaker, randomUnits } from "../prompts/prompt.ts";
import { closedLoop, type LoadResult } from "../target/load.ts";
import { interleave } from "../target/rounds.ts";
import { stream } from "../target/stream.ts";
import type { Target } from "../target/target.ts";

export interface PrefixPlan {
  /** Concurrent requests. */
  streams: number;
  /** Tokens of the shared prefix, and of each request after it. */
  shared: number;
  private: number;
  tokens: number;
  repeats: number;
  endpoint: Endpoint;
  seed: number;
}

export interface PrefixArm {
  label: string;
  repeats: LoadResult[];
}

/** In each repeat every server gets all requests together, over a new prefix. */
export async function measurePrefix(
  targets: Target[],
  plan: PrefixPlan,
  onDone: (label: string, result: LoadResult) => void,
): Promise<PrefixArm[]> {
  const random = new Random(plan.seed);
  const settings = { max_tokens: plan.tokens, temperature: 0, ignore_eos: true };
  const burst = async (target: Target, shared: number) => {
    const make = await promptMaker(plan.endpoint, target, random);
    const prefix = randomUnits(plan.endpoint, shared, random);
    const bodies = Array.from({ length: plan.streams }, () => make(shared + plan.private, prefix, random));
    return closedLoop(plan.streams, 1, (client) => stream(target, { ...bodies[client]!, ...settings }));
  };
  // opens connections and touches every sequence's first cells outside of the measurement
  for (const target of targets) await burst(target, 1);
  const results = await interleave(targets, plan.repeats, async (target) => {
    const result = await burst(target, plan.shared);
    onDone(target.label, result);
    return result;
  });
  return targets.map(({ label }, i) => ({ label, repeats: results[i]! }));
}

export const PREFIX_HEAD = [
  "server",
  "TTFT p50 ms",
  "TTFT p99 ms",
  "p99 × best peer",
  "prompt tokens",
  "cached",
  "computed",
];

/** One row per arm. The first arm is this server; it is compared with the peer of the lowest median p99. */
export function prefixRows(arms: PrefixArm[]): string[][] {
  const p99 = (arm: PrefixArm) => spread(arm.repeats.map((result) => result.ttft.p99));
  const [ours, ...peers] = arms;
  const best = peers.sort((a, b) => p99(a).median - p99(b).median)[0];
  return arms.map((arm) => {
    const over = (value: (result: LoadResult) => number): Spread => spread(arm.repeats.map(value));
    return [
      arm.label,
      spreadText(over((result) => result.ttft.p50)),
      spreadText(p99(arm)),
      arm === ours && best ? (p99(arm).median / p99(best).median).toFixed(3) : "",
      String(over((result) => result.promptTokens).median),
      String(over((result) => result.cachedTokens).median),
      String(over((result) => result.promptTokens - result.cachedTokens).median),
    ];
  });
}
