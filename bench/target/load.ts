import { type Distribution, distribution } from "../base/statistics.ts";
import type { Sample } from "./stream.ts";

/** What a load of several streams made of one server. Times in milliseconds. */
export interface LoadResult {
  requests: number;
  failures: string[];
  seconds: number;
  completionTokens: number;
  promptTokens: number;
  cachedTokens: number;
  /** Completion tokens of all streams over the time from the first request sent to the last stream's end. */
  tokensPerSecond: number;
  /** Near 1: the server sends each token as it comes; far below, gaps are not those of single tokens. */
  eventsPerToken: number;
  ttft: Distribution;
  itl: Distribution;
  tpot: Distribution;
  /** This client's CPU time as a share of one core: near 1 it would measure itself. */
  clientCpu: number;
}

/**
 * A closed loop: `streams` clients at once, each sending `requests` requests, the next as soon as the last has ended.
 * A request that fails is counted and its client goes on.
 */
export async function closedLoop(
  streams: number,
  requests: number,
  send: (stream: number, request: number) => Promise<Sample>,
): Promise<LoadResult> {
  const samples: Sample[] = [];
  const failures: string[] = [];
  const cpuBefore = process.cpuUsage();
  const began = performance.now();
  const client = async (stream: number) => {
    for (let request = 0; request < requests; request++) {
      try {
        samples.push(await send(stream, request));
      } catch (error) {
        failures.push(error instanceof Error ? error.message : String(error));
      }
    }
  };
  await Promise.all(Array.from({ length: streams }, (_, stream) => client(stream)));
  const cpu = process.cpuUsage(cpuBefore);
  return summarize(samples, failures, (cpu.user + cpu.system) / 1000 / (performance.now() - began));
}

export function summarize(samples: Sample[], failures: string[], clientCpu: number): LoadResult {
  const total = (value: (sample: Sample) => number) => samples.reduce((sum, sample) => sum + value(sample), 0);
  const completionTokens = total((sample) => sample.completionTokens);
  const from = samples.reduce((least, { sentAt }) => Math.min(least, sentAt), Number.POSITIVE_INFINITY);
  const to = samples.reduce((most, { endedAt }) => Math.max(most, endedAt), Number.NEGATIVE_INFINITY);
  const seconds = (to - from) / 1000;
  return {
    requests: samples.length + failures.length,
    failures,
    seconds,
    completionTokens,
    promptTokens: total((sample) => sample.promptTokens),
    cachedTokens: total((sample) => sample.cachedTokens),
    tokensPerSecond: completionTokens / seconds,
    eventsPerToken: total((sample) => sample.events) / completionTokens,
    ttft: distribution(samples.map((sample) => sample.ttft)),
    itl: distribution(samples.flatMap((sample) => sample.gaps)),
    tpot: distribution(samples.map((sample) => sample.tpot)),
    clientCpu,
  };
}
