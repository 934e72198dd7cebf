import { setTimeout as wait } from "node:timers/promises";
import { type LoadResult, summarize } from "../../target/load.ts";
import { HttpFailure, type Sample } from "../../target/stream.ts";

export interface Refusal {
  index: number;
  status: number;
  retryAfter: number | null;
}

export interface OpenLoopResult extends LoadResult {
  /** Per request in the order of arrivals; null when it was rejected or failed. */
  samples: (Sample | null)[];
  /** Responses of 429 and 503, which are valid and not failures. */
  refusals: Refusal[];
  /** Longest delay of a request past its due time; far from 0 the client was the bottleneck. */
  latestMs: number;
}

/** Sends request `index` at `dueMs[index]` from now regardless of earlier ones, and waits for all of them. */
export async function openLoop(dueMs: number[], send: (index: number) => Promise<Sample>): Promise<OpenLoopResult> {
  const cpuBefore = process.cpuUsage();
  const began = performance.now();
  const samples: (Sample | null)[] = [];
  const refusals: Refusal[] = [];
  const failures: string[] = [];
  let latestMs = 0;
  await Promise.all(
    dueMs.map(async (due, index) => {
      samples[index] = null;
      await wait(due - (performance.now() - began));
      latestMs = Math.max(latestMs, performance.now() - began - due);
      try {
        samples[index] = await send(index);
      } catch (error) {
        if (error instanceof HttpFailure && (error.status === 429 || error.status === 503)) {
          refusals.push({ index, status: error.status, retryAfter: error.retryAfter });
        } else failures.push(error instanceof Error ? error.message : String(error));
      }
    }),
  );
  const cpu = process.cpuUsage(cpuBefore);
  const clientCpu = (cpu.user + cpu.system) / 1000 / (performance.now() - began);
  const done = samples.filter((sample) => sample !== null);
  return { ...summarize(done, failures, clientCpu), samples, refusals, latestMs };
}
