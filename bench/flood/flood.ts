import { fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as wait } from "node:timers/promises";
import { programUrl } from "../../platform/installation.ts";
import { median, quantile, spread } from "../base/statistics.ts";
import { figure, spreadText } from "../base/table.ts";
import { ownCpuMs } from "../target/cpu-time.ts";
import { stream } from "../target/stream.ts";
import type { Target } from "../target/target.ts";
import { type FloodCounts, type FloodKind, type FloodOrder, REFUSED_WITH } from "./flood-client.ts";

export interface FloodPlan {
  kinds: FloodKind[];
  /** Rejected requests per second. */
  rate: number;
  /** Seconds of each round. */
  seconds: number;
  repeats: number;
  /** Clients whose requests are answered, each one after the other. */
  clients: number;
  /** Key of kind rate, key of kind budget, model of kind unavailable. */
  floodKey: string | null;
  spentKey: string | null;
  floodModel: string | null;
}

/** A time interval with or without a flood. */
interface Round {
  /** Milliseconds of every answered request. */
  ttfts: number[];
  /** CPU seconds of the server's process, and the length of the round. */
  cpuSeconds: number;
  seconds: number;
  flood: FloodCounts | null;
}

export interface FloodResult {
  kind: FloodKind;
  quiet: Round[];
  flooded: Round[];
}

/** Alternates quiet and flooded rounds, the order reversed with each repeat. `pid` is the server's process (Linux). */
export async function measureFloods(
  target: Target,
  pid: number,
  plan: FloodPlan,
  onRound: (line: string) => void,
): Promise<FloodResult[]> {
  const orders = plan.kinds.map((kind) => orderOf(kind, target, plan));
  const results = plan.kinds.map((kind): FloodResult => ({ kind, quiet: [], flooded: [] }));
  await round(target, pid, { ...plan, seconds: 1 }, null);
  for (let repeat = 0; repeat < plan.repeats; repeat++) {
    for (const [i, { kind, quiet, flooded }] of results.entries()) {
      const pair = [
        async () => void quiet.push(await round(target, pid, plan, null)),
        async () => void flooded.push(await round(target, pid, plan, orders[i]!)),
      ];
      for (const turn of repeat % 2 === 0 ? pair : pair.reverse()) await turn();
      onRound(
        `${kind}: p99 ${figure(pooled(quiet, 0.99))} ms quiet, ${figure(pooled(flooded, 0.99))} ms flooded, so far`,
      );
    }
  }
  return results;
}

const UNKNOWN_KEY = "ns_0000000000_nobody-has-this-key-0000000000000000";

function orderOf(kind: FloodKind, { base, model }: Target, plan: FloodPlan): FloodOrder {
  const { rate, floodKey, spentKey, floodModel } = plan;
  const order = { kind, base: base.href, model, rate, key: null };
  switch (kind) {
    case "key":
      return { ...order, key: UNKNOWN_KEY };
    case "rate":
      return { ...order, key: needed(floodKey, kind, "--flood-key") };
    case "budget":
      return { ...order, key: needed(spentKey, kind, "--spent-key") };
    case "unavailable":
      return { ...order, model: needed(floodModel, kind, "--flood-model") };
    default:
      return order;
  }
}

function needed(value: string | null, kind: FloodKind, option: string): string {
  if (value === null) throw new Error(`a flood of kind ${kind} needs ${option}`);
  return value;
}

async function round(target: Target, pid: number, plan: FloodPlan, order: FloodOrder | null): Promise<Round> {
  const flood = order === null ? null : await startFlood(order);
  const cpuBefore = ownCpuMs(pid);
  const began = performance.now();
  const until = began + plan.seconds * 1000;
  const ttfts: number[] = [];
  const client = async () => {
    while (performance.now() < until) {
      const messages = [{ role: "user", content: "Count from 1 to 20." }];
      const body = { path: "chat/completions", messages, max_tokens: 16, ignore_eos: true } as const;
      ttfts.push((await stream(target, body)).ttft);
    }
  };
  try {
    await Promise.all(Array.from({ length: plan.clients }, client));
    const seconds = (performance.now() - began) / 1000;
    const cpu = (ownCpuMs(pid) - cpuBefore) / 1000;
    const counts = (await flood?.stop()) ?? null;
    return { ttfts, cpuSeconds: cpu, seconds, flood: counts };
  } finally {
    flood?.kill();
  }
}

/**
 * Starts a flood in its own process, so that sending does not slow down the measurement. The flood runs when this
 * resolves.
 */
async function startFlood(order: FloodOrder): Promise<{ stop(): Promise<FloodCounts>; kill(): void }> {
  const child = fork(programUrl("bench/flood/flood-process"), { execArgv: [] });
  child.send(order);
  await wait(500);
  return {
    async stop() {
      const counts = once(child, "message");
      child.send("stop");
      return (await counts)[0] as FloodCounts;
    },
    kill: () => void child.kill(),
  };
}

export const FLOOD_HEAD = [
  "flood",
  "rejections/s",
  "answers",
  "TTFT p50 ms",
  "× p50",
  "p99 ms",
  "× p99",
  "× p99 of a turn",
  "CPU ms per rejection",
];

export function floodRow({ kind, quiet, flooded }: FloodResult): string[] {
  const ratios = flooded.map(({ ttfts }, i) => quantile(ttfts, 0.99) / quantile(quiet[i]!.ttfts, 0.99));
  const rates = flooded.map((round) => rejections(kind, round) / round.seconds);
  return [
    `${kind} (${REFUSED_WITH[kind].join(", ")})`,
    figure(median(rates)),
    String(answers(flooded)),
    ...[0.5, 0.99].flatMap((q) => {
      const [without, within] = [pooled(quiet, q), pooled(flooded, q)];
      return [`${figure(without)} → ${figure(within)}`, figure(within / without)];
    }),
    spreadText(spread(ratios)),
    figure(costOfRejection(kind, flooded, quiet)),
  ];
}

/** A quantile over all rounds of a kind: rounds with and without a flood see the same noise. */
function pooled(rounds: readonly Round[], q: number): number {
  return quantile(
    rounds.flatMap(({ ttfts }) => ttfts),
    q,
  );
}

function answers(rounds: readonly Round[]): number {
  return rounds.reduce((sum, { ttfts }) => sum + ttfts.length, 0);
}

function rejections(kind: FloodKind, { flood }: Round): number {
  return REFUSED_WITH[kind].reduce((sum, status) => sum + (flood?.statuses[status] ?? 0), 0);
}

/** CPU milliseconds per rejection: the server's use beyond the cost of its answers in the quiet rounds. */
function costOfRejection(kind: FloodKind, flooded: readonly Round[], quiet: readonly Round[]): number {
  const cpu = (rounds: readonly Round[]) => rounds.reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0);
  const answered = (cpu(quiet) / answers(quiet)) * answers(flooded);
  const refused = flooded.reduce((sum, round) => sum + rejections(kind, round), 0);
  return (1000 * (cpu(flooded) - answered)) / refused;
}

/** Unexpected statuses: with any, the table is about something else. */
export function floodDoubts({ kind, flooded }: FloodResult): string[] {
  const wanted = REFUSED_WITH[kind].map(String);
  const others = new Map<string, number>();
  for (const { flood } of flooded) {
    for (const [status, count] of Object.entries(flood?.statuses ?? {})) {
      if (!wanted.includes(status)) others.set(status, (others.get(status) ?? 0) + count);
    }
  }
  return [...others].map(([status, count]) => `${kind}: ${count} times ${status} instead of ${wanted.join(" or ")}`);
}
