import { setTimeout as wait } from "node:timers/promises";
import type { Random } from "../../base/random.ts";
import { type Distribution, quantile } from "../../base/statistics.ts";
import { stream } from "../../target/stream.ts";
import type { Target } from "../../target/target.ts";
import { arrivalBodies } from "./arrival-bodies.ts";
import type { BatchWork } from "./batch-work.ts";
import { type OpenLoopResult, openLoop } from "./open-loop.ts";
import type { Arrival } from "./traffic.ts";

/** Measurements of online requests, and of batch work beside them. */
export interface OnlineRun {
  requests: number;
  ttft: Distribution;
  itl: Distribution;
  /** TTFT of each request in the order of arrivals; null when it was rejected or failed. */
  ttfts: (number | null)[];
  refusals: OpenLoopResult["refusals"];
  failures: string[];
  clientCpu: number;
  latestMs: number;
  /** Output tokens per second of the batch while requests arrived; null without a batch. */
  batchRate: number | null;
}

/** Sends the arrivals at their times, beside `work` if given, which must be running. */
export async function onlineLoad(
  target: Target,
  arrivals: Arrival[],
  seconds: number,
  work: BatchWork | null,
  random: Random,
): Promise<OnlineRun> {
  const bodies = await arrivalBodies(arrivals, target, random);
  const before = await work?.tokens();
  const began = performance.now();
  const [result, batchRate] = await Promise.all([
    openLoop(
      arrivals.map(({ atMs }) => atMs),
      (index) => stream(target, bodies[index]!),
    ),
    wait(seconds * 1000).then(async () => {
      if (work === null || before === undefined) return null;
      return ((await work.tokens()) - before) / ((performance.now() - began) / 1000);
    }),
  ]);
  const { requests, ttft, itl, refusals, failures, clientCpu, latestMs } = result;
  const ttfts = result.samples.map((sample) => sample?.ttft ?? null);
  return { requests: requests + refusals.length, ttft, itl, ttfts, refusals, failures, clientCpu, latestMs, batchRate };
}

/** Reasons to doubt a run. */
export function onlineDoubts(label: string, run: OnlineRun): string[] {
  const found = [];
  const { failures, refusals, requests, latestMs, clientCpu } = run;
  if (failures.length > 0) found.push(`${label}: ${failures.length} of ${requests} requests failed: ${failures[0]}`);
  if (refusals.length > 0) found.push(`${label}: ${refusals.length} of ${requests} requests were rejected`);
  if (latestMs > LATE_MS) found.push(`${label}: a request was sent ${latestMs.toFixed(0)} ms later than due`);
  if (requests > 0 && clientCpu > 0.7) found.push(`${label}: this client used ${clientCpu.toFixed(2)} of a core`);
  return found;
}

const LATE_MS = 20;

/**
 * Requests per second that a server completes while `clients` clients always have one in flight, over one draw of the
 * traffic's lengths.
 */
export async function measureCapacity(
  target: Target,
  arrivals: Arrival[],
  clients: number,
  random: Random,
): Promise<number> {
  const bodies = await arrivalBodies(arrivals, target, random);
  const ends: number[] = [];
  let next = 0;
  const began = performance.now();
  const client = async () => {
    while (next < bodies.length) ends.push((await stream(target, bodies[next++]!)).endedAt - began);
  };
  await Promise.all(Array.from({ length: clients }, client));
  // from the first tenth to the last: at both ends some clients have no request in flight
  const [from, to] = [quantile(ends, 0.1), quantile(ends, 0.9)];
  return (0.8 * (ends.length - 1) * 1000) / (to - from);
}
