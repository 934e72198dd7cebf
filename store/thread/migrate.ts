import type { Database } from "better-sqlite3";
import { StoreError } from "../types/store-error.ts";

/**
 * Runs the missing migrations, each with its version number in one transaction, so that a kill leaves the version
 * before or after it. Throws StoreError "newer" for a database of a later version.
 */
export function migrate(db: Database, migrations: readonly string[]): void {
  const version = Number(db.pragma("user_version", { simple: true }));
  if (version > migrations.length) {
    throw new StoreError(
      "newer",
      `${db.name} was written by a newer version of Nightshift (schema ${version}; this one supports ${migrations.length}). ` +
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
