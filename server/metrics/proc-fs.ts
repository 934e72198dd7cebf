import { readdirSync, readFileSync } from "node:fs";

/**
 * What the kernel tells of another process; null where it tells nothing (no /proc, or the process is gone). Read in
 * place: /proc is memory of the kernel, and no disk is waited for.
 */
export function residentBytes(pid: number): number | null {
  const kilobytes = attempt(() => /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
  return kilobytes === null ? null : Number(kilobytes) * 1024;
}

export function openFiles(pid: number): number | null {
  return attempt(() => readdirSync(`/proc/${pid}/fd`).length);
}

function attempt<T>(read: () => T | undefined): T | null {
  try {
    return read() ?? null;
  } catch {
    return null;
  }
}
