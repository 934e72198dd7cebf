import { readFile } from "node:fs/promises";

/** Resident memory of one process. */
export interface Resident {
  pid: number;
  name: string;
  mib: number;
}

/** Resident memory of a process and all its descendants, parents first. Linux only: it reads /proc. */
export async function residentMemory(pid: number): Promise<Resident[]> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  const kib = /^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1];
  // a process that has ended but is not yet reaped has no memory
  if (kib === undefined) return [];
  const name = /^Name:\t(.*)$/m.exec(status)?.[1] ?? "?";
  const children = (await readFile(`/proc/${pid}/task/${pid}/children`, "utf8")).split(" ").filter(Boolean);
  const below = await Promise.all(children.map((child) => residentMemory(Number(child))));
  return [{ pid, name, mib: Number(kib) / 1024 }, ...below.flat()];
}

export function totalMib(processes: readonly Resident[]): number {
  return processes.reduce((sum, { mib }) => sum + mib, 0);
}
