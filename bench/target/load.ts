import { type Distribution, distribution } from "../base/statistics.ts";
import type { Sample } from "./stream.ts";

/** Results of a load of several streams on one server. Times in milliseconds. */
export interface LoadResult {
  requests: number;
  failures: string[];
  seconds: number;
  completionTokens: number;
  promptTokens: number;
  cachedTokens: number;
  /** Completion tokens of all streams per second, from the first request sent to the last stream's end. */
  tokensPerSecond: number;
  /** Near 1 when each token is sent as it is generated; far below, gaps are not those of single tokens. */
  eventsPerToken: number;
  ttft: Distribution;
  itl: Distribution;
  tpot: Distribution;
  /** This client's CPU time as a fraction of one core; near 1 the client is the bottleneck. */
  clientCpu: number;
}

/**
 * A closed loop: `streams` concurrent clients with `requests` requests each, the next sent when the previous one has
 * ended. A failed request is counted, and its client continues.
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
