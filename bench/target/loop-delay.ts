import type { Target } from "./target.ts";

/** Counts of the delays of the server's event loop, by the upper bound of their bucket in seconds. */
export type LoopDelays = ReadonlyMap<number, number>;

export async function readLoopDelays({ base }: Target): Promise<LoopDelays> {
  return loopDelaysIn(await (await fetch(new URL("/metrics", base))).text());
}

/** The delays in the text of /metrics. */
export function loopDelaysIn(text: string): LoopDelays {
  return new Map(
    [...text.matchAll(/^nightshift_event_loop_delay_seconds_bucket\{le="([^"]+)"\} (\S+)$/gm)].map(
      ([, le, count]) => [le === "+Inf" ? Number.POSITIVE_INFINITY : Number(le), Number(count)] as const,
    ),
  );
}

/** The bucket bound in milliseconds that no turn of the server's event loop exceeded between two readings. */
export function longestDelayMs(before: LoopDelays, after: LoopDelays): number {
  const grown = (le: number) => (after.get(le) ?? 0) - (before.get(le) ?? 0);
  const bound = [...after.keys()].find((le) => grown(le) === grown(Number.POSITIVE_INFINITY));
  return (bound ?? Number.POSITIVE_INFINITY) * 1000;
}
