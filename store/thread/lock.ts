import { join } from "node:path";
import Database from "better-sqlite3";
import { StoreError } from "../types/store-error.ts";
import { makePrivate } from "./private-file.ts";
import { storeError } from "./sqlite-error.ts";

/**
 * Holds `<data-dir>/lock` until release or the end of the process, including a kill: the kernel owns the lock (fcntl).
 * It is taken by an exclusive transaction that is never committed, so it is never stale. Throws StoreError "locked"
 * while another server holds it.
 */
export function takeLock(dataDir: string): { release(): void } {
  const path = join(dataDir, "lock");
  let db: Database.Database | null = null;
  try {
    makePrivate(path);
    db = new Database(path, { timeout: 0 });
    db.exec("BEGIN EXCLUSIVE");
  } catch (error) {
    db?.close();
    const failure = storeError(error);
    if (failure.code !== "busy") throw failure;
    throw new StoreError(
      "locked",
      `Another Nightshift server uses the data directory ${dataDir}. Stop it, or use another --data-dir. ` +
        "Two servers cannot share one.",
    );
  }
  const held = db;
  return { release: () => held.close() };
}
