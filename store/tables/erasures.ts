import type { Database } from "better-sqlite3";
import { fileRemoval } from "./files.ts";

/** An owner whose data of up to `requestedAt` (Unix seconds, inclusive) is being removed. */
export interface Erasure {
  owner: string;
  requestedAt: number;
}

/** One step of an erasure. */
interface ErasureStep extends Erasure {
  limit: number;
}

export interface EndedBatches {
  seqs: number[];
  /** Of their results. */
  fileIds: string[];
}

/** Removes an owner: everything but sums by hour and day, in steps that can be taken again. */
export function erasures(db: Database) {
  const removeFile = fileRemoval(db);
  const get = db.prepare<{ owner: string }, Erasure>(
    "SELECT owner, requested_at AS requestedAt FROM erasures WHERE owner = @owner",
  );
  const list = db.prepare<[], Erasure>("SELECT owner, requested_at AS requestedAt FROM erasures");
  const begin = db.prepare<Erasure>(
    `INSERT INTO erasures VALUES (@owner, @requestedAt)
     ON CONFLICT DO UPDATE SET requested_at = max(requested_at, excluded.requested_at)`,
  );
  const revoke = db.prepare<Erasure>(
    `UPDATE keys SET revoked_at = coalesce(revoked_at, @requestedAt), previous_hash = NULL, previous_until = NULL
     WHERE owner = @owner AND created_at <= @requestedAt`,
  );
  const open = db.prepare<Erasure, { id: string }>(
    `SELECT id FROM batches WHERE +owner = @owner AND created_at <= @requestedAt
       AND status IN ('validating', 'in_progress', 'finalizing', 'cancelling')`,
  );
  const left = db.prepare<Erasure, { left: number }>(
    `SELECT EXISTS (SELECT 1 FROM batches WHERE owner = @owner AND created_at <= @requestedAt) AS left`,
  );
  const over = db.prepare<ErasureStep, { seq: number; outputFileId: string | null; errorFileId: string | null }>(
    `SELECT seq, output_file_id AS outputFileId, error_file_id AS errorFileId FROM batches
     WHERE owner = @owner AND created_at <= @requestedAt
       AND status IN ('failed', 'completed', 'expired', 'cancelled')
       AND NOT EXISTS (SELECT 1 FROM lines WHERE batch_id = batches.id)
     ORDER BY seq LIMIT @limit`,
  );
  const removeBatch = db.prepare<{ seq: number }>("DELETE FROM batches WHERE seq = @seq");
  const files = db.prepare<ErasureStep, { id: string }>(
    "SELECT id FROM files WHERE owner = @owner AND created_at <= @requestedAt ORDER BY seq LIMIT @limit",
  );
  const uploads = db.prepare<ErasureStep, { id: string }>(
    "SELECT id FROM uploads WHERE owner = @owner AND created_at <= @requestedAt LIMIT @limit",
  );
  const removeParts = db.prepare<{ id: string }, { id: string }>(
    "DELETE FROM upload_parts WHERE upload_id = @id RETURNING id",
  );
  const removeUpload = db.prepare<{ id: string }>("DELETE FROM uploads WHERE id = @id");
  /** Each removes at most `limit` rows; keys go last, so that until then their owner is known. */
  const rows = [
    `idempotency WHERE owner = @owner AND key IN
       (SELECT key FROM idempotency WHERE owner = @owner AND created_at <= @requestedAt LIMIT @limit)`,
    `ledger WHERE id IN (SELECT id FROM ledger WHERE owner = @owner AND time <= @now LIMIT @limit)`,
    `outbox WHERE (id, endpoint_url) IN (SELECT id, endpoint_url FROM outbox
       WHERE type = 'nightshift.budget.warning' AND json_extract(payload, '$.data.id') = @owner
         AND created_at <= @requestedAt LIMIT @limit)`,
    `removed_files WHERE id IN
       (SELECT id FROM removed_files WHERE owner = @owner LIMIT @limit)`,
    "budget_warnings WHERE scope = 'owner' AND subject = @owner AND @requestedAt AND @limit",
    "owners WHERE owner = @owner AND @requestedAt AND @limit",
    `keys WHERE seq IN (SELECT seq FROM keys WHERE owner = @owner AND created_at <= @requestedAt LIMIT @limit)`,
  ].map((condition) => db.prepare<ErasureStep & { now: number }>(`DELETE FROM ${condition}`));
  const end = db.prepare<Erasure>("DELETE FROM erasures WHERE owner = @owner AND requested_at = @requestedAt");

  return {
    reads: {
      /** Null when nothing of this owner is being removed. */
      get: (args: { owner: string }): Erasure | null => get.get(args) ?? null,
      /** Those that a start goes on with. */
      list: (): Erasure[] => list.all(),
      /** Its batches that are not over. */
      openBatches: (args: Erasure): string[] => open.all(args).map(({ id }) => id),
      /** Batches that are over and cleaned up. */
      endedBatches(args: ErasureStep): EndedBatches {
        const batches = over.all(args);
        const fileIds = batches.flatMap(({ outputFileId, errorFileId }) => [outputFileId, errorFileId]);
        return { seqs: batches.map(({ seq }) => seq), fileIds: fileIds.filter((id) => id !== null) };
      },
      /** Its files; to be asked once no batch is left that reads one. */
      files: (args: ErasureStep): string[] => files.all(args).map(({ id }) => id),
      /** Whether a batch is left to be removed. */
      hasBatches: (args: Erasure): boolean => left.get(args)?.left === 1,
    },
    writes: {
      /** From here on none of the owner's keys is let in, and the erasure is carried through. */
      begin(erasure: Erasure): Erasure {
        begin.run(erasure);
        revoke.run(erasure);
        return get.get({ owner: erasure.owner }) ?? erasure;
      },
      /** Removes batches that `endedBatches` told of, with the rows of their result files. */
      removeBatches({ seqs, fileIds }: EndedBatches): void {
        for (const id of fileIds) removeFile(id);
        for (const seq of seqs) removeBatch.run({ seq });
      },
      removeFiles({ ids }: { ids: string[] }): void {
        for (const id of ids) removeFile(id);
      },
      /** Removes uploads whatever their state, and tells whose parts' bytes the caller removes. */
      removeUploads(args: ErasureStep): { removed: number; partIds: string[] } {
        const gone = uploads.all(args);
        const partIds = gone.flatMap(({ id }) => removeParts.all({ id }).map((part) => part.id));
        for (const upload of gone) removeUpload.run(upload);
        return { removed: gone.length, partIds };
      },
      /**
       * Removes other rows, one table after the other; of the ledger up to now, for what was cancelled is charged later
       * than it was asked for. Returns how many; call again until 0.
       */
      removeRows(args: ErasureStep & { now: number }): number {
        for (const remove of rows) {
          const { changes } = remove.run(args);
          if (changes > 0) return changes;
        }
        return 0;
      },
      /** False when it was asked for once more meanwhile: then it goes on. */
      end: (erasure: Erasure): boolean => end.run(erasure).changes === 1,
    },
    rebuilds: {},
  };
}
