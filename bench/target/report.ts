import { mkdir, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import type { LoadResult } from "./load.ts";

/** Writes everything that was measured as JSON. */
export async function writeReport(path: string | undefined, report: object): Promise<void> {
  if (path === undefined) return;
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, `${JSON.stringify(report, null, 2)}\n`);
}

/** What a reader must know before believing the figures: failed requests, wrong lengths, a client that was too slow. */
export function doubts(label: string, result: LoadResult, expectedTokens: number): string[] {
  const found: string[] = [];
  if (result.failures.length > 0) {
    found.push(`${label}: ${result.failures.length} of ${result.requests} requests failed: ${result.failures[0]}`);
  }
  const missing = (result.requests - result.failures.length) * expectedTokens - result.completionTokens;
  if (missing !== 0) found.push(`${label}: ${result.completionTokens} tokens came, ${missing} fewer than asked for`);
  if (result.eventsPerToken < 0.95) {
    found.push(
      `${label}: ${result.eventsPerToken.toFixed(2)} events with text a token: its gaps are not those of single tokens`,
    );
  }
  if (result.clientCpu > 0.7) {
    found.push(`${label}: this client used ${result.clientCpu.toFixed(2)} of a core: it may have been the bottleneck`);
  }
  return found;
}

/** The share of prompt tokens beyond those shared on purpose that may be found computed: random prompts begin alike by chance. */
const CHANCE = 0.01;

/** A server that has seen the prompts before computes fewer of them than the others do. */
export function reuse(label: string, { requests, promptTokens, cachedTokens }: LoadResult, shared: number): string[] {
  if (cachedTokens - requests * shared <= promptTokens * CHANCE) return [];
  return [
    `${label}: had ${cachedTokens} of ${promptTokens} prompt tokens in its cache, from a run with the same prompts: ` +
      "restart it, or give another --seed",
  ];
}
