import type { Target } from "../target.ts";

/** What this project's server has counted since its start. */
export interface Counters {
  batchTokens: number;
  busySeconds: number;
  /** Of these, what online work alone would have taken. */
  onlineSeconds: number;
}

/** Reads /metrics of this project's server. */
export async function counters(target: Target): Promise<Counters> {
  const text = await (await fetch(new URL("/metrics", target.base))).text();
  return {
    batchTokens: total(text, "nightshift_generation_tokens_total", 'tier="batch"'),
    busySeconds: total(text, "nightshift_engine_busy_seconds_total"),
    onlineSeconds: total(text, "nightshift_engine_online_seconds_total"),
  };
}

/** The sum of a metric's series that have the label; 0 where there is none yet. Prometheus' text format, version 0.0.4. */
export function total(text: string, name: string, label = ""): number {
  let sum = 0;
  for (const line of text.split("\n")) {
    const [, series, labels = "", value] = /^([^#\s{]+)(?:\{(.*)\})? (\S+)/.exec(line) ?? [];
    if (series === name && labels.includes(label)) sum += Number(value);
  }
  return sum;
}
