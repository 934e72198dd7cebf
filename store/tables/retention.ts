import type { Database } from "better-sqlite3";
import { responseCollection } from "./answers/responses.ts";
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
  const collect = responseCollection(db);
  const responses = db.prepare<Expiry>(
    `UPDATE responses SET removed_at = @before WHERE seq IN (SELECT seq FROM responses
       WHERE removed_at IS NULL AND created_at < @before ORDER BY created_at LIMIT @limit)`,
  );
  const completions = db.prepare<Expiry>(
    "DELETE FROM completions WHERE seq IN (SELECT seq FROM completions WHERE created_at < @before ORDER BY created_at LIMIT @limit)",
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
      /**
       * Marks responses by creation time as removed, and removes as many rows of those that no later response continues. Other
       * rows are left to `responses.collect`.
       */
      removeResponses(args: Expiry): number {
        const removed = responses.run(args).changes;
        collect(null, args.limit);
        return removed;
      },
      /** Stored chat completions by creation time. */
      removeCompletions: (args: Expiry): number => completions.run(args).changes,
      /** Keys that were revoked or expired before then. */
      removeKeys: (args: Expiry): number => keys.run(args).changes,
    },
    rebuilds: {},
  };
}
