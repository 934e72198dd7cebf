import { mkdirSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import Database from "better-sqlite3";
import { MIGRATIONS } from "../schema/migrations.ts";
import { StoreError } from "../types/store-error.ts";
import { takeLock } from "./lock.ts";
import { migrate } from "./migrate.ts";
import { makePrivate } from "./private-file.ts";
import { completeReplacement } from "./replacement.ts";
import { storeError } from "./sqlite-error.ts";

/** Milliseconds that an operation waits for another process, such as a backup, that holds the database. */
const BUSY_MS = 2000;
/** Bytes to which the write-ahead log is truncated after a burst of large results. */
const WAL_BYTES = 64 * 1024 * 1024;

/** Cache of the writing connection: the indexes of a few batches of 50,000 lines. */
const CACHE_KIB = 16 * 1024;
/**
 * Pages, 64 MiB, from which SQLite checkpoints the log itself at each commit. The report thread checkpoints much
 * earlier (see write-ahead-log.ts), unless a report keeps it busy.
 */
const CHECKPOINT_PAGES = 16_384;
/**
 * Largest database that is checked before it is used, which takes some tenths of a second. A larger one is checked in
 * parallel to its use.
 */
const CHECKED_AT_ONCE_BYTES = 64 * 1024 * 1024;

/** One connection writes; the other reads committed data only, so that no answer shows what a crash could undo. */
export interface OpenDatabase {
  writer: Database.Database;
  reader: Database.Database;
  close(): void;
}

/**
 * Opens `<data-dir>/nightshift.db` and creates what is missing. Throws StoreError "locked", "newer", "corrupt" or "io"
 * with the file and the remedy; an unusable database is left unchanged.
 */
export function openDatabase(dataDir: string, migrations: readonly string[] = MIGRATIONS): OpenDatabase {
  const folder = resolve(dataDir);
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new StoreError("io", `The data directory ${folder} cannot be created: ${reasonOf(error)}. ${ELSEWHERE}`);
  }
  const path = pathOf(folder);
  const open: { close(): void }[] = [];
  const close = () => {
    for (const one of open.splice(0).reverse()) one.close();
  };
  try {
    const lock = takeLock(folder);
    open.push({ close: () => lock.release() });
    completeReplacement(folder);
    makePrivate(path);
    const writer = new Database(path, { timeout: BUSY_MS });
    open.push(writer);
    prepare(writer, migrations);
    const reader = openReader(folder);
    open.push(reader);
    return { writer, reader, close };
  } catch (error) {
    close();
    throw advised(storeError(error), path, folder);
  }
}

function prepare(db: Database.Database, migrations: readonly string[]): void {
  const mode = db.pragma("journal_mode = WAL", { simple: true });
  if (mode !== "wal") {
    throw new StoreError(
      "io",
      `${db.name} cannot use a write-ahead log (journal mode ${mode}): is it on a network disk?`,
    );
  }
  db.pragma("synchronous = FULL");
  db.pragma("foreign_keys = ON");
  // A deletion must remove every copy: freed pages are overwritten with zeros.
  db.pragma("secure_delete = ON");
  db.pragma(`journal_size_limit = ${WAL_BYTES}`);
  db.pragma(`wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
  db.pragma(`cache_size = -${CACHE_KIB}`);
  if (!isLarge(db.name)) {
    const fault = db.pragma("quick_check(1)", { simple: true });
    if (fault !== "ok") throw new StoreError("corrupt", String(fault));
  }
  migrate(db, migrations);
}

/** A read-only connection to a database that is already open. */
export function openReader(dataDir: string): Database.Database {
  return new Database(pathOf(resolve(dataDir)), { timeout: BUSY_MS, readonly: true });
}

/** A connection for checkpoints of a database that is already open; it writes nothing else. */
export function openCopier(dataDir: string): Database.Database {
  return new Database(pathOf(resolve(dataDir)), { timeout: BUSY_MS });
}

/** True when the check, which reads the whole file, would delay a start. */
export function isLarge(path: string): boolean {
  return statSync(path).size > CHECKED_AT_ONCE_BYTES;
}

/** Checks an open database on its own connection. Returns the fault with advice; null when it is sound. */
export function faultOf(dataDir: string): string | null {
  const fault = checked(dataDir);
  if (fault === "ok") return null;
  const path = pathOf(resolve(dataDir));
  return `${path} is damaged: ${fault}. Stop the server and restore a backup, or save what can be read with: sqlite3 ${path} .recover`;
}

function checked(dataDir: string): string {
  const db = openReader(dataDir);
  try {
    return String(db.pragma("quick_check(1)", { simple: true }));
  } catch (error) {
    const { code, message } = storeError(error);
    // Other errors say nothing about the file's integrity.
    return code === "corrupt" ? message : "ok";
  } finally {
    db.close();
  }
}

export function pathOf(folder: string): string {
  return join(folder, "nightshift.db");
}

const ELSEWHERE = "Make it writable for this user, or choose another place with --data-dir.";

function advised(error: StoreError, path: string, folder: string): StoreError {
  switch (error.code) {
    case "corrupt":
      return new StoreError(
        "corrupt",
        `${path} is damaged: ${error.message}. Nothing was changed. Put a backup in its place; or move it and its -wal ` +
          `file away to start with an empty one, and save what can be read with: sqlite3 ${path} .recover`,
        { cause: error },
      );
    case "io":
      return new StoreError("io", `${folder} cannot be used: ${error.message}. ${ELSEWHERE}`, { cause: error });
    case "full":
      return new StoreError("full", `No space is left on the disk of ${folder}: ${error.message}.`, { cause: error });
    default:
      return error;
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
