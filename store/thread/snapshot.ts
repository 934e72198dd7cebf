import { existsSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { MIGRATIONS } from "../schema/migrations.ts";
import { StoreError } from "../types/store-error.ts";
import { makePrivate } from "./private-file.ts";
import { storeError } from "./sqlite-error.ts";

/** Bytes that a row stands for, in `files` or `parts`. */
export interface StoredBytes {
  id: string;
  bytes: number;
  /** Hex; of files SHA-256, of parts MD5. */
  hash: string;
}

/** So many pages at a time, so that others have a turn in between. */
const PAGES_AT_ONCE = 1000;

/**
 * The database of a data directory as it was at one moment, while a server may go on writing to it: a read transaction of
 * a connection of its own, which needs no lock. The write-ahead log can't shrink while it is open.
 */
export class Snapshot {
  readonly #db: Database.Database;
  readonly schema: number;

  private constructor(db: Database.Database) {
    this.#db = db;
    // The transaction begins with the first read.
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

  /** "ok", or the first fault that SQLite finds. */
  fault(): string {
    return String(this.#db.pragma("quick_check(1)", { simple: true }));
  }

  /** Copies it to a new file by SQLite's online backup. Throws StoreError. */
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
