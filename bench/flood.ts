import { fork } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { setTimeout as wait } from "node:timers/promises";
import { type FloodCounts, type FloodKind, type FloodOrder, REFUSED_WITH } from "./flood-client.ts";
import { quantile, type Spread, spread } from "./statistics.ts";
import { stream } from "./stream.ts";
import { figure, spreadText } from "./table.ts";
import type { Target } from "./target.ts";

export interface FloodPlan {
  kinds: FloodKind[];
  /** Refused requests a second. */
  rate: number;
  /** Of each round. */
  seconds: number;
  repeats: number;
  /** Clients whose requests are answered, one after the other each. */
  clients: number;
  floodKey: string | null;
}

/** A stretch of time, with a flood or without. TTFTs in milliseconds. */
interface Round {
  p50: number;
  p99: number;
  requests: number;
  /** Seconds of CPU that the server's own process used, and how long that was. */
  cpuSeconds: number;
  seconds: number;
  flood: FloodCounts | null;
}

export interface FloodResult {
  kind: FloodKind;
  quiet: Round[];
  flooded: Round[];
}

const CLOCK_TICKS = 100;

/** Quiet and flooded rounds by turns, the order reversed with each repeat. `pid` is the server's own process (Linux). */
export async function measureFloods(
  target: Target,
  pid: number,
  plan: FloodPlan,
  heard: (line: string) => void,
): Promise<FloodResult[]> {
  const results = plan.kinds.map((kind): FloodResult => ({ kind, quiet: [], flooded: [] }));
  await round(target, pid, { ...plan, seconds: 1 }, null);
  for (let repeat = 0; repeat < plan.repeats; repeat++) {
    for (const { kind, quiet, flooded } of results) {
      const order = { kind, base: target.base.href, model: target.model, rate: plan.rate, key: plan.floodKey };
      const turns = [
        async () => void quiet.push(await round(target, pid, plan, null)),
        async () => void flooded.push(await round(target, pid, plan, order)),
      ];
      for (const turn of repeat % 2 === 0 ? turns : turns.reverse()) await turn();
      heard(`${kind}: p99 ${figure(quiet.at(-1)!.p99)} ms quiet, ${figure(flooded.at(-1)!.p99)} ms flooded`);
    }
  }
  return results;
}

async function round(target: Target, pid: number, plan: FloodPlan, order: FloodOrder | null): Promise<Round> {
  const flood = order === null ? null : await startFlood(order);
  const cpuBefore = await cpuSeconds(pid);
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
    const cpu = (await cpuSeconds(pid)) - cpuBefore;
    const counts = (await flood?.stop()) ?? null;
    const [p50, p99] = [quantile(ttfts, 0.5), quantile(ttfts, 0.99)];
    return { p50, p99, requests: ttfts.length, cpuSeconds: cpu, seconds, flood: counts };
  } finally {
    flood?.kill();
  }
}

/** A process of its own, so that sending does not slow down who measures. It is at work when this resolves. */
async function startFlood(order: FloodOrder): Promise<{ stop(): Promise<FloodCounts>; kill(): void }> {
  const child = fork(new URL("./flood-client.js", import.meta.url), { execArgv: [] });
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

/** User and system time of a process, without its children's. See proc(5). */
async function cpuSeconds(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / CLOCK_TICKS;
}

export const FLOOD_HEAD = [
  "flood",
  "refusals/s",
  "TTFT p50 quiet",
  "flooded",
  "p99 quiet",
  "flooded",
  "× p99",
  "server CPU ms per refusal",
];

export function floodRow({ kind, quiet, flooded }: FloodResult): string[] {
  const over = (rounds: readonly Round[], value: (round: Round) => number) => spread(rounds.map(value));
  const pairs: Spread = spread(flooded.map(({ p99 }, i) => p99 / quiet[i]!.p99));
  const each = flooded.map((round, i) => costOfRefusal(kind, round, quiet[i]!));
  return [
    `${kind} (${REFUSED_WITH[kind]})`,
    figure(over(flooded, (round) => refusals(kind, round) / round.seconds).median),
    spreadText(over(quiet, ({ p50 }) => p50)),
    spreadText(over(flooded, ({ p50 }) => p50)),
    spreadText(over(quiet, ({ p99 }) => p99)),
    spreadText(over(flooded, ({ p99 }) => p99)),
    spreadText(pairs),
    spreadText(spread(each)),
  ];
}

function refusals(kind: FloodKind, { flood }: Round): number {
  return flood?.statuses[REFUSED_WITH[kind]] ?? 0;
}

/** Milliseconds of CPU: what the server used beyond what the answered requests of the quiet round would have cost. */
function costOfRefusal(kind: FloodKind, flooded: Round, quiet: Round): number {
  const answered = (quiet.cpuSeconds / quiet.requests) * flooded.requests;
  return (1000 * (flooded.cpuSeconds - answered)) / refusals(kind, flooded);
}

/** What came instead of the refusal: the table would be about something else. */
export function floodDoubts({ kind, flooded }: FloodResult): string[] {
  const wanted = String(REFUSED_WITH[kind]);
  const others = new Map<string, number>();
  for (const { flood } of flooded) {
    for (const [status, count] of Object.entries(flood?.statuses ?? {})) {
      if (status !== wanted) others.set(status, (others.get(status) ?? 0) + count);
    }
  }
  return [...others].map(([status, count]) => `${kind}: ${count} times ${status} instead of ${wanted}`);
}
