import { readdirSync, readFileSync } from "node:fs";

/**
 * Milliseconds on a CPU of all threads of a process and its descendants, to the nanosecond; threads that ended are not
 * counted. Linux only: it reads /proc.
 */
export function cpuMs(pid: number): number {
  let total = 0;
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    const folder = `/proc/${pid}/task/${thread}`;
    try {
      total += Number(readFileSync(`${folder}/schedstat`, "utf8").split(" ", 1)[0]) / 1e6;
      const children = readFileSync(`${folder}/children`, "utf8").split(" ").filter(Boolean);
      for (const child of children) total += cpuMs(Number(child));
    } catch (error) {
      // a thread that ends while its files are read
      if (!(error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ESRCH")))
        throw error;
    }
  }
  return total;
}
