import { slope } from "../base/statistics.ts";
import { type Resident, totalMib } from "../target/memory.ts";

/** Resident memory of the server and all its children after a number of requests. */
export interface MemorySample {
  requests: number;
  processes: Resident[];
}

export interface MemoryTrend {
  pid: number;
  name: string;
  first: number;
  last: number;
  /** MiB per 1,000 requests by least squares, without the first fifth of the run. */
  perThousand: number;
}

/** Fraction of the run in which heaps and pools may grow. */
const WARM = 0.2;

/**
 * Memory trend of each process, and of all together (pid 0). A process that started or ended during the run has its own
 * line.
 */
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
