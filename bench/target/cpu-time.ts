import { readdirSync, readFileSync } from "node:fs";

/**
 * Milliseconds on a CPU of all threads of a process and its descendants, to the nanosecond; threads that ended are not
 * counted. Linux only: it reads /proc.
 */
export function cpuMs(pid: number): number {
  return overThreads(pid, (folder) => {
    const children = readFileSync(`${folder}/children`, "utf8").split(" ").filter(Boolean);
    return threadMs(folder) + children.reduce((sum, child) => sum + cpuMs(Number(child)), 0);
  });
}

/** The same of a process without its descendants. */
export function ownCpuMs(pid: number): number {
  return overThreads(pid, threadMs);
}

function threadMs(folder: string): number {
  return Number(readFileSync(`${folder}/schedstat`, "utf8").split(" ", 1)[0]) / 1e6;
}

/** The sum over the threads of a process, each by its folder. */
function overThreads(pid: number, measure: (folder: string) => number): number {
  let total = 0;
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    try {
      total += measure(`/proc/${pid}/task/${thread}`);
    } catch (error) {
      // a thread that ends while its files are read
      if (!(error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ESRCH")))
        throw error;
    }
  }
  return total;
}
