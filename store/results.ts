import type { Database } from "better-sqlite3";

export interface ResultRow {
  number: number;
  customId: string;
  /** Null for a line that never reached an answer. */
  requestId: string | null;
  /** Null with `requestId`; the body is then the error object `{code, message}`. */
  statusCode: number | null;
  /** JSON text as it goes into the file, never encoded twice. */
  body: string;
}

export type ResultKind = "output" | "error";

/** Stores one result; line transitions use it inside their own operation. */
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
  const counts = db.prepare<{ batchId: string }, { kind: ResultKind; count: number }>(
    "SELECT kind, count(*) AS count FROM results WHERE batch_id = @batchId GROUP BY kind",
  );
  const remove = db.prepare<{ batchId: string; limit: number }>(
    `DELETE FROM results WHERE rowid IN (SELECT rowid FROM results WHERE batch_id = @batchId LIMIT @limit)`,
  );

  return {
    reads: {
      /**
       * Results by line number, from the one after `after` (begin with 0), at most `limit` rows and about `maxChars` of
       * bodies but at least one row. `end`: there is none after these.
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
      counts: (args: { batchId: string }) => counts.all(args),
    },
    writes: {},
    rebuilds: {
      /** Removes up to `limit` result rows of a batch, once its files are checked. Returns how many. */
      remove: (args: { batchId: string; limit: number }): number => remove.run(args).changes,
    },
  };
}
