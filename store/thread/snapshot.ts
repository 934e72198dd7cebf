import { existsSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { MIGRATIONS } from "../schema/migrations.ts";
import { StoreError } from "../types/store-error.ts";
import { makePrivate } from "./private-file.ts";
import { storeError } from "./sqlite-error.ts";

/** A stored file of a row, in `files` or `parts`. */
export interface StoredBytes {
  id: string;
  bytes: number;
  /** Hex: SHA-256 of files, MD5 of parts. */
  hash: string;
}

/** Pages copied at a time; between them other work of the event loop runs. */
const PAGES_AT_ONCE = 1000;

/**
 * The database of a data directory at one moment, while a server may write to it: a read transaction on its own
 * connection, without a lock. The write-ahead log cannot be truncated while it is open.
 */
export class Snapshot {
  readonly #db: Database.Database;
  readonly schema: number;

  private constructor(db: Database.Database) {
    this.#db = db;
    // The transaction begins at the first read.
    db.exec("BEGIN");
    this.schema = Number(db.pragma("user_version", { simple: true }));
  }

  /** Throws StoreError "io" where there is no database, "newer", "corrupt". */
  static open(folder: string): Snapshot {
    const path = join(folder, "nightshift.db");
    if (!existsSync(path)) throw new StoreError("io", `There is no database in ${folder}.`);
    let db: Database.Database | null = null;
    try {
      db = new Database(path, { readonly: true, fileMustExist: true });
      const snapshot = new Snapshot(db);
      if (snapshot.schema > MIGRATIONS.length) {
        throw new StoreError("newer", `${path} was written by a newer version of Nightshift. Use that one.`);
      }
      return snapshot;
    } catch (error) {
      db?.close();
      throw storeError(error);
    }
  }

  files(): StoredBytes[] {
    return this.#db.prepare<[], StoredBytes>("SELECT id, bytes, sha256 AS hash FROM files ORDER BY id").all();
  }

  parts(): StoredBytes[] {
    return this.#db.prepare<[], StoredBytes>("SELECT id, bytes, md5 AS hash FROM upload_parts ORDER BY id").all();
  }

  /** "ok", or the first fault of SQLite's check. */
  fault(): string {
    return String(this.#db.pragma("quick_check(1)", { simple: true }));
  }

  /** Copies it to a new file with SQLite's online backup. Throws StoreError. */
  async copyTo(path: string): Promise<void> {
    try {
      makePrivate(path);
      await this.#db.backup(path, { progress: () => PAGES_AT_ONCE });
    } catch (error) {
      throw storeError(error);
    }
  }

  close(): void {
    this.#db.close();
  }
}
