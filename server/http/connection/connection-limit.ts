import { readFileSync } from "node:fs";
import { OptionsError } from "../../../platform/options-error.ts";

/** Files of the store, the engines and the log, and a reserve for short uses. */
const RESERVED = 256;
/** A connection has its socket and, during an upload or a download, a file. */
const PER_CONNECTION = 2;
const LEAST = 16;

/** With fewer open files the start fails at an arbitrary point in the store, the models or the packages. */
const LEAST_OPEN_FILES = 128;

/** Throws OptionsError where this process may have too few files open to start at all. */
export function checkOpenFiles(openFiles: number | null): void {
  if (openFiles === null || openFiles >= LEAST_OPEN_FILES) return;
  throw new OptionsError(
    `This process may have ${openFiles} files open, and needs ${LEAST_OPEN_FILES} at least. Raise the limit: ` +
      "`ulimit -n 4096` in the shell, LimitNOFILE= in a systemd unit, ulimits.nofile in a compose file.",
  );
}

/** The connections that leave enough files for the rest, where a process may have `files` open; null is without limit. */
export function connectionsWithin(openFiles: number | null, wanted: number): number {
  if (openFiles === null) return wanted;
  return Math.min(wanted, Math.max(LEAST, Math.floor((openFiles - RESERVED) / PER_CONNECTION)));
}

/** The files that this process may have open; null where the platform does not report it. Node has raised it to the hard limit. */
export function openFileLimit(): number | null {
  try {
    const soft = /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1];
    return soft === undefined ? null : Number(soft);
  } catch {
    return null;
  }
}
