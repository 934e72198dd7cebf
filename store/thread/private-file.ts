import { closeSync, openSync } from "node:fs";

/**
 * Makes a file that its user alone may read, before SQLite makes it by the umask; its log and shared memory get the same
 * mode. One that is there keeps its own. What else goes wrong here, SQLite meets next, and tells.
 */
export function makePrivate(path: string): void {
  try {
    closeSync(openSync(path, "wx", 0o600));
  } catch {}
}
