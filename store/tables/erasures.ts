import type { Database } from "better-sqlite3";
import { conversationCollection } from "./answers/conversations.ts";
import { responseCollection } from "./answers/responses.ts";
import { fileRemoval } from "./files.ts";

/** An owner whose data up to `requestedAt` (Unix seconds, inclusive) is being removed. */
export interface Erasure {
  owner: string;
  requestedAt: number;
}

/** One bounded step of an erasure. */
interface ErasureStep extends Erasure {
  limit: number;
}

export interface EndedBatches {
  seqs: number[];
  /** Ids of their result files. */
  fileIds: string[];
}

/** Removes all data of an owner except sums by hour and day, in idempotent steps. */
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
  /** Each statement removes at most `limit` rows. Keys are removed last, because they identify the owner until then. */
  const rows = [
    `idempotency WHERE owner = @owner AND key IN
       (SELECT key FROM idempotency WHERE owner = @owner AND created_at <= @requestedAt LIMIT @limit)`,
    `ledger WHERE id IN (SELECT id FROM ledger WHERE owner = @owner AND time <= @now LIMIT @limit)`,
    `outbox WHERE (id, endpoint_url) IN (SELECT id, endpoint_url FROM outbox
       WHERE type = 'nightshift.budget.warning' AND json_extract(payload, '$.data.id') = @owner
         AND created_at <= @requestedAt LIMIT @limit)`,
    ...["removed_files", "removed_completions"].map(
      (table) => `${table} WHERE id IN (SELECT id FROM ${table} WHERE owner = @owner LIMIT @limit)`,
    ),
    "budget_warnings WHERE scope = 'owner' AND subject = @owner AND @requestedAt AND @limit",
    "owners WHERE owner = @owner AND @requestedAt AND @limit",
    `keys WHERE seq IN (SELECT seq FROM keys WHERE owner = @owner AND created_at <= @requestedAt LIMIT @limit)`,
  ].map((condition) => db.prepare<ErasureStep & { now: number }>(`DELETE FROM ${condition}`));
  const removeAnswers = answerErasure(db);
  const end = db.prepare<Erasure>("DELETE FROM erasures WHERE owner = @owner AND requested_at = @requestedAt");

  return {
    reads: {
      /** Null when no erasure of this owner is in progress. */
      get: (args: { owner: string }): Erasure | null => get.get(args) ?? null,
      /** Erasures that a start resumes. */
      list: (): Erasure[] => list.all(),
      /** The owner's open batches. */
      openBatches: (args: Erasure): string[] => open.all(args).map(({ id }) => id),
      /** Terminal batches without line rows. */
      endedBatches(args: ErasureStep): EndedBatches {
        const batches = over.all(args);
        const fileIds = batches.flatMap(({ outputFileId, errorFileId }) => [outputFileId, errorFileId]);
        return { seqs: batches.map(({ seq }) => seq), fileIds: fileIds.filter((id) => id !== null) };
      },
      /** The owner's files; to be removed once no batch remains that reads one. */
      files: (args: ErasureStep): string[] => files.all(args).map(({ id }) => id),
      /** True while the owner has a batch to remove. */
      hasBatches: (args: Erasure): boolean => left.get(args)?.left === 1,
    },
    writes: {
      /** Revokes the owner's keys and starts the erasure, which survives restarts. */
      begin(erasure: Erasure): Erasure {
        begin.run(erasure);
        revoke.run(erasure);
        return get.get({ owner: erasure.owner }) ?? erasure;
      },
      /** Removes batches of `endedBatches` with the rows of their result files. */
      removeBatches({ seqs, fileIds }: EndedBatches): void {
        for (const id of fileIds) removeFile(id);
        for (const seq of seqs) removeBatch.run({ seq });
      },
      removeFiles({ ids }: { ids: string[] }): void {
        for (const id of ids) removeFile(id);
      },
      /** Removes uploads of any status. The caller removes the files of the returned parts. */
      removeUploads(args: ErasureStep): { removed: number; partIds: string[] } {
        const gone = uploads.all(args);
        const partIds = gone.flatMap(({ id }) => removeParts.all({ id }).map((part) => part.id));
        for (const upload of gone) removeUpload.run(upload);
        return { removed: gone.length, partIds };
      },
      /**
       * Removes rows of the other tables, one table after the other. Ledger rows go up to `now`, because cancelled
       * requests are charged after the erasure's request. Returns how many; call again until 0.
       */
      removeRows(args: ErasureStep & { now: number }): number {
        const answers = removeAnswers(args);
        if (answers > 0) return answers;
        for (const remove of rows) {
          const { changes } = remove.run(args);
          if (changes > 0) return changes;
        }
        return 0;
      },
      /** Ends the erasure. False when a newer request extended it: then it continues. */
      end: (erasure: Erasure): boolean => end.run(erasure).changes === 1,
    },
    rebuilds: {},
  };
}

/** Removes stored answers of an owner, at most `limit` rows in one step. Returns how many rows were changed. */
function answerErasure(db: Database): (step: ErasureStep) => number {
  const collectResponses = responseCollection(db);
  const collectConversations = conversationCollection(db);
  // A later response that continues a removed one would keep its items.
  const responses = db.prepare<ErasureStep>(
    `UPDATE responses SET removed_at = @requestedAt WHERE seq IN (SELECT seq FROM responses AS later
       WHERE owner = @owner AND removed_at IS NULL AND (created_at <= @requestedAt OR EXISTS
         (SELECT 1 FROM responses WHERE seq = later.parent AND removed_at IS NOT NULL))
       ORDER BY seq LIMIT @limit)`,
  );
  const conversations = db.prepare<ErasureStep>(
    `UPDATE conversations SET removed_at = @requestedAt WHERE seq IN (SELECT seq FROM conversations
       WHERE owner = @owner AND removed_at IS NULL AND created_at <= @requestedAt LIMIT @limit)`,
  );
  const completions = db.prepare<ErasureStep>(
    `DELETE FROM completions WHERE seq IN
       (SELECT seq FROM completions WHERE owner = @owner AND created_at <= @requestedAt LIMIT @limit)`,
  );
  return (step) => {
    const collected = collectResponses(step.owner, step.limit) + collectConversations(step.owner, step.limit);
    if (collected > 0) return collected;
    return responses.run(step).changes + conversations.run(step).changes + completions.run(step).changes;
  };
}
