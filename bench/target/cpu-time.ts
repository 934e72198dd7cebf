import { readdirSync, readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";

const CLOCK_TICKS = 100;

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

/** Seconds of user and system time of a process without its children. See proc(5). */
export async function ownCpuSeconds(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / CLOCK_TICKS;
}
