import { readdirSync, readlinkSync } from "node:fs";

/** The table of a process's descriptors on Linux. */
export const canCountDescriptors = process.platform === "linux";

/** Open descriptors of this process on files in a folder. */
export function descriptorsIn(folder: string): number {
  return readdirSync("/proc/self/fd").filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).startsWith(folder);
    } catch {
      return false;
    }
  }).length;
}
