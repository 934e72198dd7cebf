import type { Database } from "better-sqlite3";
import { StoreError } from "../types/store-error.ts";

/**
 * Runs what the database lacks, each migration and its version number in one transaction: a process that is killed
 * between leaves the version before or the version after. Throws StoreError "newer" when a later version was here.
 */
export function migrate(db: Database, migrations: readonly string[]): void {
  const version = Number(db.pragma("user_version", { simple: true }));
  if (version > migrations.length) {
    throw new StoreError(
      "newer",
      `${db.name} was written by a newer version of Nightshift (schema ${version}; this one knows ${migrations.length}). ` +
        "Start that version, or use another --data-dir. Nothing was changed.",
    );
  }
  for (let next = version; next < migrations.length; next++) {
    db.transaction(() => {
      db.exec(migrations[next]!);
      db.pragma(`user_version = ${next + 1}`);
    }).exclusive();
  }
}
