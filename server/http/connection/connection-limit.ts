import { readFileSync } from "node:fs";
import { OptionsError } from "../../../platform/options-error.ts";

/** Of the store, the engines, the log, and what a moment needs beside them. */
const RESERVED = 256;
/** A connection has its socket and, while a file comes or goes, that file. */
const PER_CONNECTION = 2;
const LEAST = 16;

/** With fewer the start fails somewhere amid the store, the models or the packages, by whatever opens one too many. */
const LEAST_OPEN_FILES = 128;

/** Throws OptionsError where this process may have too few files open to start at all. */
export function checkOpenFiles(openFiles: number | null): void {
  if (openFiles === null || openFiles >= LEAST_OPEN_FILES) return;
  throw new OptionsError(
    `This process may have ${openFiles} files open, and needs ${LEAST_OPEN_FILES} at least. Raise the limit: ` +
      "`ulimit -n 4096` in the shell, LimitNOFILE= in a systemd unit, ulimits.nofile in a compose file.",
  );
}

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
