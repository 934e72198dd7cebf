import type { Target } from "./target.ts";

/** Counters of this project's server since its start. */
export interface Counters {
  batchTokens: number;
  busySeconds: number;
  /** The part that online work alone would have taken. */
  onlineSeconds: number;
}

/** Online requests by their queue wait. */
export interface Waits {
  all: number;
  /** Requests within the bound. */
  within: number;
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

/** @param seconds an upper bound of the buckets of nightshift_queue_time_seconds */
export async function waitsWithin(target: Target, seconds: number): Promise<Waits> {
  const text = await (await fetch(new URL("/metrics", target.base))).text();
  const name = "nightshift_queue_time_seconds";
  const tier = 'tier="default"';
  return { all: total(text, `${name}_count`, tier), within: total(text, `${name}_bucket`, tier, `le="${seconds}"`) };
}

/** Sum of a metric's series with the given labels; 0 without one. Prometheus' text format, version 0.0.4. */
export function total(text: string, name: string, ...wanted: string[]): number {
  let sum = 0;
  for (const line of text.split("\n")) {
    const [, series, labels = "", value] = /^([^#\s{]+)(?:\{(.*)\})? (\S+)/.exec(line) ?? [];
    if (series === name && wanted.every((label) => labels.includes(label))) sum += Number(value);
  }
  return sum;
}
