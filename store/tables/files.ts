import type { Database } from "better-sqlite3";
import { columns } from "../types/columns.ts";
import { type Page, page } from "../types/cursor-page.ts";
import { erasedKeyOf } from "../types/erased-key.ts";
import { MIN_STORED_BYTES, type Refusal, type StorageBounds, storageOf } from "../types/storage.ts";

export interface FileRow {
  id: string;
  owner: string;
  purpose: string;
  filename: string;
  bytes: number;
  /** Hex SHA-256 of the whole content. */
  sha256: string;
  createdAt: number;
  expiresAt: number | null;
}

const FILE = columns<FileRow>(["id", "owner", "purpose", "filename", "bytes", "sha256", "createdAt", "expiresAt"]);

/** True for the input file of an open batch. A batch of another owner, which fails, does not count. */
const IN_USE = `EXISTS (SELECT 1 FROM batches WHERE input_file_id = files.id AND owner = files.owner
  AND status IN ('validating', 'in_progress', 'finalizing', 'cancelling'))`;

/** Inserts a file row; other tables use it within their operations. */
export function fileInsertion(db: Database): (row: FileRow) => void {
  const insert = db.prepare<FileRow>(`INSERT INTO files (${FILE.names}) VALUES (${FILE.values})`);
  return (row) => void insert.run(row);
}

/** A file that is durable on disk, and the bounds of its owner's storage. */
export interface NewFile extends StorageBounds {
  row: FileRow;
}

/** The reason why a further file does not fit into its owner's storage; null where it does. */
export function fileRefusal(db: Database): (file: NewFile) => Refusal | null {
  const storage = storageOf(db);
  return ({ row, quotaBytes, maxFiles }) => {
    const stored = storage(row.owner);
    if (stored.files >= maxFiles) return "too_many";
    const bytes = stored.bytes + Math.max(row.bytes, MIN_STORED_BYTES);
    return quotaBytes !== null && bytes > quotaBytes ? "over_quota" : null;
  };
}

/** Results from which a file was written. */
const COPIED_RESULTS = `SELECT id, kind FROM (
    SELECT id, 'output' AS kind FROM batches WHERE output_file_id = @id
    UNION ALL SELECT id, 'error' FROM batches WHERE error_file_id = @id) AS batch
  WHERE EXISTS (SELECT 1 FROM results r WHERE r.batch_id = batch.id AND r.kind = batch.kind)`;

/** Deletes a file's row and marks the results from which it was written, for `results.discard`. */
export function fileRemoval(db: Database): (id: string) => void {
  const discardResults = db.prepare<{ id: string }>(
    `INSERT INTO result_removals (batch_id, kind) ${COPIED_RESULTS} ON CONFLICT DO NOTHING`,
  );
  const remove = db.prepare<{ id: string }>("DELETE FROM files WHERE id = @id");
  return (id) => {
    discardResults.run({ id });
    remove.run({ id });
  };
}

export function files(db: Database) {
  const insertRow = fileInsertion(db);
  const storage = storageOf(db);
  const refused = fileRefusal(db);
  const isErased = erasedKeyOf(db);
  const removeWithResults = fileRemoval(db);
  const get = db.prepare<{ owner: string; id: string }, FileRow>(
    `SELECT ${FILE.select} FROM files WHERE id = @id AND owner = @owner`,
  );
  const inUse = db.prepare<{ id: string }, { used: number }>(`SELECT ${IN_USE} AS used FROM files WHERE id = @id`);
  const hasResults = db.prepare<{ id: string }, { has: number }>(
    `SELECT EXISTS (SELECT 1 FROM (${COPIED_RESULTS}) AS copy
       WHERE NOT EXISTS (SELECT 1 FROM result_removals m WHERE m.batch_id = copy.id AND m.kind = copy.kind)) AS has`,
  );
  const expired = db.prepare<{ now: number; limit: number }, { id: string }>(
    `SELECT id FROM files WHERE expires_at <= @now AND NOT ${IN_USE} ORDER BY expires_at LIMIT @limit`,
  );
  const seqOf = db.prepare<{ owner: string; id: string }, { seq: number }>(
    `SELECT seq FROM files WHERE id = @id AND owner = @owner
     UNION ALL SELECT seq FROM removed_files WHERE id = @id AND owner = @owner LIMIT 1`,
  );
  const removal = db.prepare<{ id: string }, { id: string }>("SELECT id FROM removed_files WHERE id = @id");
  const forgetRemoved = db.prepare<{ before: number; limit: number }>(
    `DELETE FROM removed_files WHERE id IN
       (SELECT id FROM removed_files WHERE removed_at < @before ORDER BY removed_at LIMIT @limit)`,
  );
  const listed = (order: "ASC" | "DESC") =>
    db.prepare<{ owner: string; purpose: string | null; after: number; limit: number }, FileRow>(
      `SELECT ${FILE.select} FROM files
       WHERE owner = @owner AND seq ${order === "ASC" ? ">" : "<"} @after AND (@purpose IS NULL OR purpose = @purpose)
       ORDER BY seq ${order} LIMIT @limit`,
    );
  const lists = { asc: listed("ASC"), desc: listed("DESC") };
  const ids = db.prepare<{ after: string; limit: number }, { id: string; bytes: number; sha256: string }>(
    "SELECT id, bytes, sha256 FROM files WHERE id > @after ORDER BY id LIMIT @limit",
  );

  return {
    reads: {
      get: (args: { owner: string; id: string }): FileRow | null => get.get(args) ?? null,
      /**
       * Newest first with `desc`. `purpose` null lists all. `after` is the last id of the previous page; its file may
       * have been removed.
       */
      list(args: {
        owner: string;
        purpose: string | null;
        limit: number;
        after: string | null;
        order: "asc" | "desc";
      }): Page<FileRow> {
        const { owner, purpose, limit, order } = args;
        let after = order === "asc" ? 0 : Number.MAX_SAFE_INTEGER;
        if (args.after !== null) {
          const cursor = seqOf.get({ owner, id: args.after });
          if (cursor === undefined) return "unknown_cursor";
          after = cursor.seq;
        }
        return page(lists[order].all({ owner, purpose, after, limit: limit + 1 }), limit);
      },
      storage,
      /** Files by id, for the comparison with the disk at start; begins with `after` "". */
      ids: (args: { after: string; limit: number }) => ids.all(args),
      /** True when a file's row was removed in the past day, or until the next start after it. */
      wasRemoved: (args: { id: string }): boolean => removal.get(args) !== undefined,
      /** True while rows of the results of this file remain. */
      hasResults: (args: { id: string }): boolean => hasResults.get(args)?.has === 1,
    },
    writes: {
      /** Inserts the row of a file that is durable on disk. "erased": the owner of the request's key was erased. */
      insert({ keyId = null, ...file }: NewFile & { keyId?: string | null }): "inserted" | Refusal | "erased" {
        if (isErased(keyId)) return "erased";
        const refusal = refused(file);
        if (refusal !== null) return refusal;
        insertRow(file.row);
        return "inserted";
      },
      /** Removes a row; the caller removes the file on disk after "removed". "in_use": an open batch reads it. */
      remove({ owner, id }: { owner: string; id: string }): "removed" | "absent" | "in_use" {
        if (get.get({ owner, id }) === undefined) return "absent";
        if (inUse.get({ id })?.used === 1) return "in_use";
        removeWithResults(id);
        return "removed";
      },
      /** Removes list positions of files removed before `before` (Unix seconds). Returns how many. */
      forgetRemoved: (args: { before: number; limit: number }): number => forgetRemoved.run(args).changes,
      /** Removes the row of a file that is missing on disk, of any owner. */
      forget: ({ id }: { id: string }): void => removeWithResults(id),
      /** Removes expired rows, except input files in use. Returns the ids of the files to unlink. */
      removeExpired(args: { now: number; limit: number }): string[] {
        const gone = expired.all(args).map(({ id }) => id);
        for (const id of gone) removeWithResults(id);
        return gone;
      },
    },
    rebuilds: {},
  };
}
