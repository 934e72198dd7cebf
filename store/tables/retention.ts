import type { Database } from "better-sqlite3";
import { fileRemoval } from "./files.ts";

/**
 * Removes rows older than `before` (Unix seconds), at most `limit` in one operation; call again while it removes as
 * many.
 */
export interface Expiry {
  before: number;
  limit: number;
}

/** Removes rows past their retention period. The ledger's sums by hour and day stay. */
export function retention(db: Database) {
  const removeFile = fileRemoval(db);
  const ledger = db.prepare<Expiry>(
    "DELETE FROM ledger WHERE id IN (SELECT id FROM ledger WHERE time < @before ORDER BY time LIMIT @limit)",
  );
  // A terminal batch with line rows is still being cleaned up.
  const batches = db.prepare<Expiry>(
    `DELETE FROM batches WHERE seq IN (SELECT seq FROM batches
       WHERE status IN ('failed', 'completed', 'expired', 'cancelled') AND created_at < @before
         AND NOT EXISTS (SELECT 1 FROM lines WHERE batch_id = batches.id)
       ORDER BY created_at LIMIT @limit)`,
  );
  const files = db.prepare<Expiry, { id: string }>(
    `SELECT id FROM files WHERE created_at < @before AND NOT EXISTS (SELECT 1 FROM batches
       WHERE input_file_id = files.id AND owner = files.owner
         AND status IN ('validating', 'in_progress', 'finalizing', 'cancelling'))
     ORDER BY created_at LIMIT @limit`,
  );
  // Open batches still need their key.
  const keys = db.prepare<Expiry>(
    `DELETE FROM keys WHERE seq IN (SELECT seq FROM keys
       WHERE ((revoked_at IS NOT NULL AND revoked_at < @before) OR (expires_at IS NOT NULL AND expires_at < @before))
         AND NOT EXISTS (SELECT 1 FROM batches WHERE key_id = keys.id
           AND status IN ('validating', 'in_progress', 'finalizing', 'cancelling'))
       LIMIT @limit)`,
  );

  return {
    reads: {},
    writes: {
      /** Ledger rows by the request's end. Their hours are already summed, so reports lose only finer buckets. */
      removeLedgerRows: (args: Expiry): number => ledger.run(args).changes,
      /** Terminal batches by creation time. */
      removeBatches: (args: Expiry): number => batches.run(args).changes,
      /** Files that no open batch reads, by creation time. The caller removes their bytes. */
      removeFiles(args: Expiry): string[] {
        const gone = files.all(args).map(({ id }) => id);
        for (const id of gone) removeFile(id);
        return gone;
      },
      /** Keys that were revoked or expired before then. */
      removeKeys: (args: Expiry): number => keys.run(args).changes,
    },
    rebuilds: {},
  };
}
