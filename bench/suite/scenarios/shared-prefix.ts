import { spread } from "../../base/statistics.ts";
import { figure } from "../../base/table.ts";
import { doubts } from "../../target/report.ts";
import { measurePrefix, PREFIX_HEAD, type PrefixArm, prefixRows } from "../../throughput/prefix.ts";
import { bestArm } from "../best-arm.ts";
import { goal, type Laboratory, type Scenario, type Section } from "../scenario.ts";

/** Many concurrent requests over one uncomputed prefix. */
export const sharedPrefix: Scenario = { name: "shared-prefix", title: "Shared prefix burst", run };

const TOKENS = 4;

async function run(lab: Laboratory): Promise<Section> {
  const { requests, shared, private: own } = lab.preset.sharedPrefix;
  const plan = {
    streams: requests,
    shared,
    private: own,
    tokens: TOKENS,
    repeats: lab.repeats,
    endpoint: "completions",
    seed: lab.seed,
  } as const;
  const warnings: string[] = [];
  const arms = await measurePrefix([lab.own, ...lab.peers], plan, (label, result) => {
    lab.say(`shared prefix, ${label}: TTFT p99 ${figure(result.ttft.p99)} ms`);
    warnings.push(...doubts(label, result, TOKENS));
  });
  const computed = (arm: PrefixArm) =>
    spread(arm.repeats.map((repeat) => repeat.promptTokens - repeat.cachedTokens)).median;
  const ttft = (arm: PrefixArm) => spread(arm.repeats.map((repeat) => repeat.ttft.p99)).median;
  const [ours, ...peers] = arms;
  const least = bestArm(peers, computed, "least");
  const first = bestArm(peers, ttft, "least");
  return {
    about: `${requests} concurrent requests with a shared prefix of ${shared} tokens, new each time, and ${own} further tokens each.`,
    head: PREFIX_HEAD,
    rows: prefixRows(arms),
    goals: [
      ...(least
        ? [goal(`prompt tokens that ${least.label} computes, of ours`, computed(least) / computed(ours!), "≥", 5, " ×")]
        : []),
      ...(first ? [goal(`TTFT p99, of ${first.label}'s`, ttft(ours!) / ttft(first), "≤", 0.333, " ×")] : []),
    ],
    figures: [],
    warnings,
    data: { plan, arms },
  };
}
