import { slope } from "../base/statistics.ts";
import { type Resident, totalMib } from "../target/memory.ts";

/** Resident memory after so many requests, of the server and all its children. */
export interface MemorySample {
  requests: number;
  processes: Resident[];
}

export interface MemoryTrend {
  pid: number;
  name: string;
  first: number;
  last: number;
  /** MiB per 1,000 requests by least squares, the first fifth of the run left out. */
  perThousand: number;
}

/** Heaps and pools may grow for this share of the run before growth counts. */
const WARM = 0.2;

/** How the memory of each process went, and of all together (pid 0). A process that came or went has its own line. */
export function memoryTrends(samples: MemorySample[]): MemoryTrend[] {
  const most = Math.max(...samples.map(({ requests }) => requests));
  const trend = (pid: number, name: string, mib: (sample: MemorySample) => number | undefined): MemoryTrend => {
    const points = samples.flatMap((sample) => {
      const y = mib(sample);
      return y === undefined ? [] : [{ x: sample.requests / 1000, y }];
    });
    const warm = points.filter(({ x }) => x * 1000 >= most * WARM);
    return { pid, name, first: points[0]!.y, last: points.at(-1)!.y, perThousand: slope(warm) };
  };
  const names = new Map(samples.flatMap(({ processes }) => processes.map(({ pid, name }) => [pid, name] as const)));
  return [
    ...[...names].map(([pid, name]) =>
      trend(pid, name, ({ processes }) => processes.find((process) => process.pid === pid)?.mib),
    ),
    trend(0, "all", ({ processes }) => totalMib(processes)),
  ];
}

export const MEMORY_HEAD = ["process", "first MiB", "last MiB", "MiB per 1,000 requests"];

export function memoryRow({ pid, name, first, last, perThousand }: MemoryTrend): string[] {
  return [pid === 0 ? name : `${name} (${pid})`, first.toFixed(1), last.toFixed(1), perThousand.toFixed(3)];
}
