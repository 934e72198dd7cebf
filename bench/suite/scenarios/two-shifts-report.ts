import { quantile, type Spread, spread } from "../../base/statistics.ts";
import { figure, spreadText } from "../../base/table.ts";
import { type Bar, type BarPanel, barChart } from "../../chart/bar-chart.ts";
import { BOUND_SERIES } from "../../chart/svg.ts";
import type { Target } from "../../target/target.ts";
import type { LineShape } from "../load/batch-work.ts";
import type { OnlineRun } from "../load/online-load.ts";
import type { OracleRules } from "../oracle/oracle.ts";
import type { StepCosts } from "../oracle/step-costs.ts";
import { type Goal, goal, type Section } from "../scenario.ts";

/** Engine time and step costs of this project's server during a run. */
export interface EngineUse {
  busySeconds: number;
  costs: StepCosts;
}

export interface ShiftRun extends OnlineRun {
  /** Output tokens per second of the oracle for the same arrivals; null without a batch. */
  oracleRate: number | null;
  /** Seconds of the online requests alone at the oracle, and their times to the first token in milliseconds. */
  oracleSeconds: number;
  oracleTtfts: number[];
  /** Null at a peer. */
  engine: EngineUse | null;
}

/** Repeats of one server at one online load, with or without a batch. */
export interface ShiftArm {
  target: Target;
  /** Fraction of the capacity; 0 has no online requests. */
  load: number;
  batch: boolean;
  repeats: ShiftRun[];
}

export interface ShiftResults {
  arms: ShiftArm[];
  own: Target;
  peer: Target | null;
  capacity: number;
  rules: OracleRules;
  plan: { seconds: number; line: LineShape };
  clients: number;
  traffic: string;
  warnings: string[];
}

const HEAD = [
  "server",
  "online load",
  "batch",
  "requests",
  "TTFT p50 ms",
  "TTFT p99 ms",
  "of all repeats",
  "the oracle's alone",
  "ITL p50 ms",
  "ITL p99 ms",
  "batch tokens/s",
  "of the oracle",
];

export function twoShiftsReport(results: ShiftResults): Section {
  const { arms, own, peer, capacity, rules, plan, clients, traffic, warnings } = results;
  const used = arms.filter(({ target }) => target === own).flatMap(({ repeats }) => repeats);
  // Without a batch the engine's busy time and the oracle's must agree, which checks its costs.
  const check = spread(
    arms
      .filter(({ target, batch }) => target === own && !batch)
      .flatMap(({ repeats }) => repeats.map((run) => run.oracleSeconds / run.engine!.busySeconds)),
  );
  return {
    about: [
      `Online requests arrive as in ${traffic}. ` +
        `The capacity is what this server completes with ${clients} clients in a closed loop: ` +
        `${figure(capacity)} requests/s; loads are shares of it. Each run takes ${plan.seconds} s; all servers get the ` +
        "same arrivals, others in each repeat. TTFT p99 of all repeats is over their requests together: bursts " +
        "decide it, and a single run has few. Next to it is the value of the oracle, described below, for the same requests " +
        "without any batch, at the step costs of the same run: where requests queue, small differences in cost become large " +
        "differences in queue wait, with a batch or without.",
      `The batch has lines of ${plan.line.prompt} tokens in and ${plan.line.tokens} out, and is endless: here a batch of ` +
        `/v1/batches, at the peer a plain client with ${clients} of the same lines in flight.`,
      "The oracle is simulated, step by step, over the same arrivals: a scheduler that has the exact cost of every step, " +
        "takes no time between two steps, preempts at no cost and never lacks lines, under the same bounds " +
        `(batch-tax ${rules.tax}, batch-step-ms ${rules.batchStepMs}, slo-itl-ms ${rules.itlMs}, at most ` +
        `${rules.stepTokens} tokens per step, ${rules.sequences} sequences). Step costs are from the step model of this ` +
        "server (mean of two readings per second): steps with online work from the same run, " +
        `${costsText(used.filter(({ oracleSeconds }) => oracleSeconds > 0))}; steps of batch alone from the run without ` +
        `online requests, ${costsText(used.filter(({ oracleSeconds }) => oracleSeconds === 0))}. In the runs without a batch ` +
        `the same requests take the oracle ${spreadText(check)} of the time that the engine was busy with them.`,
    ].join("\n\n"),
    head: HEAD,
    rows: arms.map((arm) => row(arm, own)),
    goals: goals(results),
    figures: [
      {
        name: "two-shifts",
        alt: "TTFT and ITL at the 99th percentile alone and with a batch, and what the batch gets, per server and load",
        svg: barChart("Two shifts: online requests alone and beside a batch", panels(arms, own, peer), figure),
      },
    ],
    warnings,
    data: {
      ...results,
      arms: arms.map(({ target, ...arm }) => ({ server: target.label, ...arm })),
      own: undefined,
      peer: undefined,
    },
  };
}

function costsText(runs: ShiftRun[]): string {
  const cost = (of: (costs: StepCosts) => number) => spreadText(spread(runs.map(({ engine }) => of(engine!.costs))));
  return (
    `${cost(({ fixed }) => fixed)} ms, ${cost(({ decode }) => decode)} more a decode, ` +
    `${cost(({ prefill }) => prefill)} a prompt token, ${cost(({ pass }) => pass)} a further pass and ` +
    `${cost(({ kv }) => 1000 * kv)} µs a cell that decodes attend over, ` +
    `${cost(({ read }) => 1000 * read)} µs one that prompts do`
  );
}

function over({ repeats }: ShiftArm, value: (run: ShiftRun) => number | null): Spread {
  return spread(repeats.map((run) => value(run) ?? Number.NaN));
}

/** Over the requests of all repeats. */
function pooledP99({ repeats }: ShiftArm, ttftsOf: (run: ShiftRun) => (number | null)[]): number {
  return quantile(
    repeats.flatMap((run) => ttftsOf(run).filter((ttft) => ttft !== null)),
    0.99,
  );
}

const ofOracle = ({ batchRate, oracleRate }: ShiftRun) =>
  batchRate === null || oracleRate === null ? null : batchRate / oracleRate;

function row(arm: ShiftArm, own: Target): string[] {
  const online = (value: (run: ShiftRun) => number) => (arm.load === 0 ? "" : spreadText(over(arm, value)));
  const batch = (value: (run: ShiftRun) => number | null) => (arm.batch ? spreadText(over(arm, value)) : "");
  return [
    arm.target.label,
    `${arm.load * 100} %`,
    arm.batch ? "with" : "",
    String(over(arm, ({ requests }) => requests).median),
    online(({ ttft }) => ttft.p50),
    online(({ ttft }) => ttft.p99),
    arm.load === 0 ? "" : figure(pooledP99(arm, ({ ttfts }) => ttfts)),
    arm.load === 0 || arm.target !== own ? "" : figure(pooledP99(arm, ({ oracleTtfts }) => oracleTtfts)),
    online(({ itl }) => itl.p50),
    online(({ itl }) => itl.p99),
    batch(({ batchRate }) => batchRate),
    batch(ofOracle),
  ];
}

function goals({ arms, own, peer, rules }: ShiftResults): Goal[] {
  const loads = [...new Set(arms.map(({ load }) => load))].filter((load) => load > 0);
  return loads.flatMap((load) => {
    const arm = (target: Target, batch: boolean) =>
      arms.find((one) => one.target === target && one.load === load && one.batch === batch)!;
    const at = `at ${load * 100} % load`;
    const [alone, both] = [arm(own, false), arm(own, true)];
    const median = (one: ShiftArm, value: (run: ShiftRun) => number | null) => over(one, value).median;
    const ttft = (one: ShiftArm) => pooledP99(one, ({ ttfts }) => ttfts);
    const itl = (run: ShiftRun) => run.itl.p99;
    const found = [
      goal(`ITL p99 with batch over alone, ${at}`, median(both, itl) / median(alone, itl), "≤", 1.1, " ×"),
      goal(
        `TTFT p99 with batch, less 1.10 × alone, ${at}`,
        ttft(both) - 1.1 * ttft(alone),
        "≤",
        rules.batchStepMs,
        " ms",
      ),
      goal(`batch tokens/s over the oracle's, ${at}`, median(both, ofOracle), "≥", 0.85, " ×"),
    ];
    if (peer) {
      const worse = ttft(arm(peer, true)) / ttft(both);
      found.push(goal(`TTFT p99 with batch of ${peer.label} over ours, ${at}`, worse, "≥", 3, " ×"));
    }
    return found;
  });
}

function panels(arms: ShiftArm[], own: Target, peer: Target | null): BarPanel[] {
  const loads = [...new Set(arms.map(({ load }) => load))].filter((load) => load > 0);
  const bars = (load: number, value: (run: ShiftRun) => number | null, wanted: (arm: ShiftArm) => boolean) =>
    arms
      .filter((arm) => arm.load === load && wanted(arm))
      .map((arm): Bar => {
        const { median, min, max } = over(arm, value);
        const label = `${arm.target.label}${arm.batch ? " + batch" : ""}`;
        return { label, series: arm.target === own ? 0 : 1, pale: !arm.batch, value: median, min, max };
      });
  const panel = (
    title: string,
    value: (run: ShiftRun) => number | null,
    extra: (load: number) => Bar[],
    wanted = (_: ShiftArm) => true,
  ) => ({
    title,
    groups: loads.map((load) => ({
      label: `${load * 100} % load`,
      bars: [...bars(load, value, wanted), ...extra(load)],
    })),
  });
  const ideal = (load: number): Bar[] => {
    const arm = arms.find((one) => one.load === load && one.batch && one.target === own)!;
    const { median, min, max } = over(arm, ({ oracleRate }) => oracleRate);
    return [{ label: "oracle under the cap", series: BOUND_SERIES, value: median, min, max }];
  };
  const none = () => [];
  return [
    panel("TTFT, 99th percentile of a run, ms", ({ ttft }) => ttft.p99, none),
    panel("ITL, 99th percentile of a run, ms", ({ itl }) => itl.p99, none),
    panel(
      peer
        ? "Batch throughput beside them, tokens/s (at the peer without a bound)"
        : "Batch throughput beside them, tokens/s",
      ({ batchRate }) => batchRate,
      ideal,
      (arm) => arm.batch,
    ),
  ];
}
