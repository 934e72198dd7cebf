import type { Database } from "better-sqlite3";

export interface ResultRow {
  number: number;
  customId: string;
  /** Null for a line without a response. */
  requestId: string | null;
  /** Null with `requestId`; the body is then the error object `{code, message}`. */
  statusCode: number | null;
  /** JSON text as written to the result file, encoded once. */
  body: string;
}

export type ResultKind = "output" | "error";

/** Results that are marked for removal. */
interface ResultRemoval {
  batchId: string;
  kind: ResultKind;
}

/** Most bytes of bodies that one operation removes: with secure_delete, every page that they fill is overwritten. */
const REMOVAL_BYTES = 1024 * 1024;

/** Stores one result; line transitions use it within their operation. */
export function resultInsertion(db: Database) {
  return db.prepare<{
    batchId: string;
    number: number;
    kind: ResultKind;
    requestId: string | null;
    statusCode: number | null;
    body: string;
  }>(
    `INSERT INTO results (batch_id, number, kind, request_id, status_code, body)
     VALUES (@batchId, @number, @kind, @requestId, @statusCode, @body)`,
  );
}

export function results(db: Database) {
  const page = db.prepare<{ batchId: string; kind: ResultKind; after: number; limit: number }, ResultRow>(
    `SELECT r.number, l.custom_id AS customId, r.request_id AS requestId, r.status_code AS statusCode, r.body
     FROM results r JOIN lines l ON l.batch_id = r.batch_id AND l.number = r.number
     WHERE r.batch_id = @batchId AND r.kind = @kind AND r.number > @after ORDER BY r.number LIMIT @limit`,
  );
  const count = db.prepare<{ batchId: string; kind: ResultKind }, { count: number }>(
    "SELECT count(*) AS count FROM results WHERE batch_id = @batchId AND kind = @kind",
  );
  // octet_length is in the row's header, so overflow pages of bodies are not read.
  const sizes = db.prepare<ResultRemoval & { limit: number }, { rowid: number; bytes: number }>(
    `SELECT rowid, octet_length(body) AS bytes FROM results WHERE batch_id = @batchId AND kind = @kind LIMIT @limit`,
  );
  const remove = db.prepare<{ rowid: number }>("DELETE FROM results WHERE rowid = @rowid");
  const marked = db.prepare<[], ResultRemoval>("SELECT batch_id AS batchId, kind FROM result_removals LIMIT 1");
  const unmark = db.prepare<ResultRemoval>("DELETE FROM result_removals WHERE batch_id = @batchId AND kind = @kind");

  function removeSome(batchId: string, kind: ResultKind, limit: number): number {
    let removed = 0;
    let bytes = 0;
    for (const row of sizes.all({ batchId, kind, limit })) {
      if (removed > 0 && bytes + row.bytes > REMOVAL_BYTES) break;
      remove.run({ rowid: row.rowid });
      bytes += row.bytes;
      removed++;
    }
    return removed;
  }

  return {
    reads: {
      /**
       * Results by line number after `after` (0 for the first page): at most `limit` rows and about `maxChars`
       * characters of bodies, but at least one row. `end` is true when none follow.
       */
      page(args: { batchId: string; kind: ResultKind; after: number; limit: number; maxChars: number }): {
        rows: ResultRow[];
        end: boolean;
      } {
        const { maxChars, ...bounds } = args;
        const rows: ResultRow[] = [];
        let chars = 0;
        for (const row of page.iterate(bounds)) {
          rows.push(row);
          chars += row.body.length;
          if (chars >= maxChars) return { rows, end: false };
        }
        return { rows, end: rows.length < args.limit };
      },
      count: (args: { batchId: string; kind: ResultKind }): number => count.get(args)?.count ?? 0,
    },
    writes: {},
    rebuilds: {
      /**
       * Removes result rows of a batch after its files were verified: up to `limit` rows and about REMOVAL_BYTES of
       * bodies, but at least one row. Returns how many; call again until 0.
       */
      remove({ batchId, limit }: { batchId: string; limit: number }): number {
        return removeSome(batchId, "output", limit) || removeSome(batchId, "error", limit);
      },
      /**
       * One step of removing results of deleted files. Returns the number of removed rows; null when no mark remains.
       */
      discard({ limit }: { limit: number }): number | null {
        const removal = marked.get();
        if (removal === undefined) return null;
        const removed = removeSome(removal.batchId, removal.kind, limit);
        if (removed === 0) unmark.run(removal);
        return removed;
      },
    },
  };
}
