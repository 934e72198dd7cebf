import { readFileSync } from "node:fs";

/** Of the store, the engines, the log, and what a moment needs beside them. */
const RESERVED = 256;
/** A connection has its socket and, while a file comes or goes, that file. */
const PER_CONNECTION = 2;
const LEAST = 16;

/** How many connections leave the store its files, where a process may have so many open; null is no limit. */
export function connectionsWithin(openFiles: number | null, wanted: number): number {
  if (openFiles === null) return wanted;
  return Math.min(wanted, Math.max(LEAST, Math.floor((openFiles - RESERVED) / PER_CONNECTION)));
}

/** The files that this process may have open, where the platform tells (Linux). Node has raised it to the hard limit. */
export function openFileLimit(): number | null {
  try {
    const soft = /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1];
    return soft === undefined ? null : Number(soft);
  } catch {
    return null;
  }
}
