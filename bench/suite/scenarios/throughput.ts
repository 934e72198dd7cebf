import { type Spread, spread } from "../../base/statistics.ts";
import { figure, spreadText } from "../../base/table.ts";
import { lineChart } from "../../chart/line-chart.ts";
import { BOUND_SERIES } from "../../chart/svg.ts";
import { doubts, reuse } from "../../target/report.ts";
import {
  type Comparison,
  compare,
  measureThroughput,
  THROUGHPUT_HEAD,
  type ThroughputArm,
  throughputRows,
} from "../../throughput/throughput.ts";
import { ceiling } from "../ceiling.ts";
import { type Goal, goal, type Laboratory, type Scenario, type Section } from "../scenario.ts";

interface Level {
  level: number;
  arms: ThroughputArm[];
  /** Tokens per second of llama-batched-bench, per repeat. */
  ceiling: number[];
  /** For each arm of this server, in their order. */
  comparisons: { label: string; best: Comparison | null }[];
}

/** Throughput at several numbers of streams, compared with the peers and with llama.cpp without a server. */
export const throughput: Scenario = { name: "throughput", title: "Throughput", run };

/** Streams from which there is a goal. */
const MANY = 32;

async function run(lab: Laboratory): Promise<Section> {
  const { levels, prompt, tokens } = lab.preset.throughput;
  const plan = {
    prompt,
    tokens,
    shared: 0,
    requests: null,
    jsonSchema: null,
    repeats: lab.repeats,
    endpoint: "completions",
    seed: lab.seed,
  } as const;
  const warnings: string[] = [];
  const measured: Level[] = [];
  for (const level of levels) {
    // with one seed for all levels a peer would have the prompts of the previous level in its cache
    const streams = { ...plan, seed: lab.seed + level, streams: [level] };
    const ours = [lab.own];
    const arms = await measureThroughput([...ours, ...lab.peers], streams, (count, label, result) => {
      lab.say(`${count} streams, ${label}: ${figure(result.tokensPerSecond)} tokens/s`);
      const arm = `${count} streams, ${label}`;
      warnings.push(...doubts(arm, result, tokens), ...reuse(arm, result, 0));
    });
    const rates: number[] = [];
    for (let i = 0; lab.ceiling !== null && i < lab.repeats; i++) {
      rates.push(await ceiling({ ...lab.ceiling, sequences: level, prompt, tokens }));
      lab.say(`${level} sequences, llama-batched-bench: ${figure(rates.at(-1)!)} tokens/s`);
    }
    const comparisons = ours.map(({ label }, i) => ({ label, best: compare(arms[i]!, arms.slice(ours.length)) }));
    measured.push({ level, arms, ceiling: rates, comparisons });
  }
  const rows = measured.flatMap(({ level, arms, ceiling, comparisons }) => {
    const table = throughputRows(arms, comparisons.length);
    if (ceiling.length === 0) return table;
    const blank = THROUGHPUT_HEAD.slice(3).map(() => "");
    return [...table, [String(level), "llama-batched-bench", spreadText(spread(ceiling)), ...blank]];
  });
  const rate = (label: string) =>
    measured.map(({ level, arms, ceiling }) => {
      const repeats = arms.find((arm) => arm.label === label)?.repeats.map((repeat) => repeat.tokensPerSecond);
      return { x: level, ...point(spread(repeats ?? ceiling)) };
    });
  const lines = [lab.own, ...lab.peers].map(({ label }, series) => ({ label, series, points: rate(label) }));
  if (lab.ceiling) lines.push({ label: "llama-batched-bench", series: BOUND_SERIES, points: rate("") });
  return {
    about:
      `A closed loop of streams, each prompt of ${prompt} random tokens, each answer of ${tokens}. ` +
      (lab.ceiling
        ? "llama-batched-bench runs after the servers of its level with as many repeats: no server, no sampling."
        : ""),
    head: THROUGHPUT_HEAD,
    rows,
    goals: measured.flatMap(({ level, arms, ceiling, comparisons }) => {
      const goals: Goal[] = [];
      for (const { label, best } of comparisons) {
        if (best === null || level < MANY) continue;
        const what = `tokens/s of ${label} at ${level} streams over ${best.peer}`;
        goals.push(goal(what, best.ratio.median, "≥", 1.1, " ×"));
      }
      if (ceiling.length > 0 && level === 8) {
        const own = spread(arms[0]!.repeats.map((repeat) => repeat.tokensPerSecond)).median;
        goals.push(goal("tokens/s at 8 streams over the ceiling", own / spread(ceiling).median, "≥", 0.95, " ×"));
      }
      return goals;
    }),
    figures: [
      {
        name: "throughput",
        alt: "Generated tokens a second over the number of streams, per server",
        svg: lineChart("Generated tokens a second", "streams", lines, (value) => value.toLocaleString("en")),
      },
    ],
    warnings,
    data: { plan: { ...plan, levels }, measured },
  };
}

function point({ median, min, max }: Spread) {
  return { y: median, min, max };
}
