import { mkdir, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import type { LoadResult } from "./load.ts";

/** Writes all measurements as JSON. */
export async function writeReport(path: string | undefined, report: object): Promise<void> {
  if (path === undefined) return;
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, `${JSON.stringify(report, null, 2)}\n`);
}

/** Reasons to doubt the figures: failed requests, wrong lengths, a client that was too slow. */
export function doubts(label: string, result: LoadResult, expectedTokens: number): string[] {
  const found: string[] = [];
  if (result.failures.length > 0) {
    found.push(`${label}: ${result.failures.length} of ${result.requests} requests failed: ${result.failures[0]}`);
  }
  const missing = (result.requests - result.failures.length) * expectedTokens - result.completionTokens;
  if (missing !== 0)
    found.push(`${label}: ${result.completionTokens} tokens received, ${missing} fewer than requested`);
  if (result.eventsPerToken < 0.95) {
    found.push(
      `${label}: ${result.eventsPerToken.toFixed(2)} events with text per token: its gaps are not those of single tokens`,
    );
  }
  if (result.clientCpu > 0.7) {
    found.push(`${label}: this client used ${result.clientCpu.toFixed(2)} of a core: it may have been the bottleneck`);
  }
  return found;
}

/** Largest fraction of prompt tokens cached by chance beyond the shared ones: random prompts may begin alike. */
const CHANCE = 0.01;

/** Warns of a server that has cached the prompts in an earlier run. */
export function reuse(label: string, { requests, promptTokens, cachedTokens }: LoadResult, shared: number): string[] {
  if (cachedTokens - requests * shared <= promptTokens * CHANCE) return [];
  return [
    `${label}: had ${cachedTokens} of ${promptTokens} prompt tokens in its cache, from a run with the same prompts: ` +
      "restart it, or use another --seed",
  ];
}
