import { readdirSync, readFileSync } from "node:fs";

/**
 * Resident memory of another process in bytes; null without /proc and after the process's end. The read is synchronous:
 * /proc is kernel memory, so that it waits for no disk.
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
