import { closeSync, openSync } from "node:fs";

/**
 * Creates a file with mode 0600 before SQLite creates it by the umask; its log and shared memory get the same mode. An
 * existing file keeps its mode. Other errors are ignored: SQLite then fails on the same file and reports them.
 */
export function makePrivate(path: string): void {
  try {
    closeSync(openSync(path, "wx", 0o600));
  } catch {}
}
