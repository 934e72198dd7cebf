import type { Database } from "better-sqlite3";
import type { BatchStatus } from "../../openapi/resources/batches.ts";
import { BATCH, type BatchRow } from "../types/batch-row.ts";
import { type Page, page } from "../types/cursor-page.ts";
import { type Unanswered, unansweredEnd } from "./background.ts";
import { batchCreation, enqueuedTokensOf, OPEN } from "./batch-creation.ts";
import { type FileRow, fileInsertion } from "./files.ts";
import { eventInsertion, type NewEvent } from "./outbox.ts";

/** "terminal": completed, failed or expired; "unchanged": already cancelling or cancelled. */
export type Cancellation =
  | { outcome: "cancelling" | "unchanged" | "terminal"; batch: BatchRow }
  | { outcome: "absent" };

export interface BatchBacklog {
  batchId: string;
  owner: string;
  model: string | null;
  createdAt: number;
  expiresAt: number;
  lines: number;
  /** Estimated tokens of the lines that are not terminal. */
  tokens: number;
}

const UNFINISHED = `EXISTS (SELECT 1 FROM lines WHERE batch_id = @id AND state = 'pending')
  OR EXISTS (SELECT 1 FROM lines WHERE batch_id = @id AND state = 'running')`;

interface MarkedArgs {
  owner: string;
  mark: string;
  limit: number;
  after: string | null;
  before: string | null;
}

export function batches(db: Database) {
  const insertFile = fileInsertion(db);
  const insertEvents = eventInsertion(db);
  const endResponse = unansweredEnd(db);
  const get = db.prepare<{ owner: string; id: string }, BatchRow>(
    `SELECT ${BATCH.select} FROM batches WHERE id = @id AND owner = @owner`,
  );
  const find = db.prepare<{ id: string }, BatchRow>(`SELECT ${BATCH.select} FROM batches WHERE id = @id`);
  const list = db.prepare<{ owner: string; after: number; limit: number }, BatchRow>(
    `SELECT ${BATCH.select} FROM batches WHERE owner = @owner AND seq < @after ORDER BY seq DESC LIMIT @limit`,
  );
  const marked = db.prepare<{ owner: string; mark: string; after: number; limit: number }, BatchRow>(
    `SELECT ${BATCH.select} FROM batches WHERE owner = @owner AND instr(metadata, @mark) > 0 AND seq < @after
     ORDER BY seq DESC LIMIT @limit`,
  );
  const markedBefore = db.prepare<{ owner: string; mark: string; before: number; limit: number }, BatchRow>(
    `SELECT ${BATCH.select} FROM batches WHERE owner = @owner AND instr(metadata, @mark) > 0 AND seq > @before
     ORDER BY seq LIMIT @limit`,
  );
  const open = db.prepare<[], BatchRow>(`SELECT ${BATCH.select} FROM batches WHERE ${OPEN} ORDER BY seq`);
  const openOfKey = db.prepare<{ keyId: string }, { id: string; owner: string }>(
    `SELECT id, owner FROM batches WHERE +key_id = @keyId AND ${OPEN} ORDER BY seq`,
  );
  const counts = db.prepare<[], { status: BatchStatus; count: number }>(
    "SELECT status, count FROM batch_counts WHERE count > 0",
  );
  const backlog = db.prepare<[], BatchBacklog>(
    `SELECT id AS batchId, owner, model, created_at AS createdAt, expires_at AS expiresAt,
       total - completed - failed AS lines, max(0, estimated_tokens - settled_tokens) AS tokens
     FROM batches WHERE ${OPEN} AND status = 'in_progress' ORDER BY expires_at, seq`,
  );
  const keyed = db.prepare<{ owner: string; key: string }, { used: number }>(
    "SELECT 1 AS used FROM idempotency WHERE owner = @owner AND key = @key",
  );
  const forget = db.prepare<{ before: number; limit: number }>(
    `DELETE FROM idempotency WHERE (owner, key) IN
       (SELECT owner, key FROM idempotency WHERE created_at < @before ORDER BY created_at LIMIT @limit)`,
  );
  const countValidations = db.prepare<{ id: string; count: number }>(
    "UPDATE batches SET validations = @count WHERE id = @id AND status = 'validating'",
  );
  const begin = db.prepare<{ id: string; now: number; model: string }>(
    `UPDATE batches SET status = 'in_progress', in_progress_at = @now, model = @model, (total, estimated_tokens) =
       (SELECT count(*), coalesce(sum(estimated_tokens), 0) FROM lines WHERE batch_id = @id)
     WHERE id = @id AND status = 'validating'`,
  );
  const fail = db.prepare<{ id: string; now: number; errors: string; model: string | null }>(
    `UPDATE batches SET status = 'failed', failed_at = @now, errors = @errors, model = @model
     WHERE id = @id AND status = 'validating'`,
  );
  const cancel = db.prepare<{ id: string; now: number }>(
    "UPDATE batches SET status = 'cancelling', cancelling_at = @now WHERE id = @id",
  );
  const beginFinalizing = db.prepare<{ id: string; now: number }>(
    `UPDATE batches SET status = 'finalizing', finalizing_at = @now
     WHERE id = @id AND status = 'in_progress' AND completed + failed = total`,
  );
  const finalize = db.prepare<{
    id: string;
    now: number;
    status: string;
    outputFileId: string | null;
    errorFileId: string | null;
  }>(
    `UPDATE batches SET status = @status, output_file_id = @outputFileId, error_file_id = @errorFileId,
       completed_at = iif(@status = 'completed', @now, completed_at),
       expired_at = iif(@status = 'expired', @now, expired_at),
       cancelled_at = iif(@status = 'cancelled', @now, cancelled_at)
     WHERE id = @id AND NOT (${UNFINISHED}) AND (
       (@status = 'completed' AND status = 'finalizing')
       OR (@status = 'cancelled' AND status = 'cancelling')
       OR (@status = 'expired' AND status IN ('validating', 'in_progress')))`,
  );
  // Skips from one batch's lines to the next batch's, so that neither all batches nor all lines are read.
  const leftovers = db.prepare<{ limit: number }, { id: string }>(
    `WITH RECURSIVE indexed (id) AS (
       SELECT min(batch_id) FROM lines
       UNION ALL SELECT (SELECT min(batch_id) FROM lines WHERE batch_id > indexed.id) FROM indexed WHERE id IS NOT NULL)
     SELECT b.id FROM indexed CROSS JOIN batches b ON b.id = indexed.id WHERE NOT ${OPEN} LIMIT @limit`,
  );

  return {
    reads: {
      get: (args: { owner: string; id: string }): BatchRow | null => get.get(args) ?? null,
      /** Finds a batch of any owner, for the batch runner. */
      find: (args: { id: string }): BatchRow | null => find.get(args) ?? null,
      /** Newest first; `after` is the last id of the previous page. */
      list({ owner, limit, after }: { owner: string; limit: number; after: string | null }): Page<BatchRow> {
        const cursor = after === null ? Number.MAX_SAFE_INTEGER : get.get({ owner, id: after })?.seq;
        if (cursor === undefined) return "unknown_cursor";
        return page(list.all({ owner, after: cursor, limit: limit + 1 }), limit);
      },
      /** Of the batches with this key in their metadata, newest first, those after or before one of them. */
      marked({ owner, mark, limit, after, before }: MarkedArgs): Page<BatchRow> {
        const id = after ?? before;
        const seq = id === null ? Number.MAX_SAFE_INTEGER : get.get({ owner, id })?.seq;
        if (seq === undefined) return "unknown_cursor";
        if (after !== null || before === null) {
          return page(marked.all({ owner, mark: `"${mark}"`, after: seq, limit: limit + 1 }), limit);
        }
        const rows = markedBefore.all({ owner, mark: `"${mark}"`, before: seq, limit: limit + 1 });
        return { rows: rows.slice(0, limit).reverse(), hasMore: rows.length > limit };
      },
      /** True when this owner has used the Idempotency-Key. */
      isKeyUsed: (args: { owner: string; key: string }): boolean => keyed.get(args) !== undefined,
      /** Open batches, oldest first. */
      open: (): BatchRow[] => open.all(),
      /** Open batches that were created with this key. */
      openOfKey: (args: { keyId: string }): { id: string; owner: string }[] => openOfKey.all(args),
      /** Number of batches by status, without zeros. */
      counts: () => counts.all(),
      /** Estimated tokens of the remaining lines in a key's open batches, without the batch `except`. */
      enqueuedTokens: enqueuedTokensOf(db),
      /** Batches in progress, the nearest deadline first. */
      backlog: (): BatchBacklog[] => backlog.all(),
      /** Terminal batches that still have line rows, for the clean-up after a restart. */
      leftovers: (args: { limit: number }): string[] => leftovers.all(args).map(({ id }) => id),
    },
    writes: {
      create: batchCreation(db),
      /** Removes Idempotency-Keys older than `before` (Unix seconds). Returns how many. */
      forgetKeys: (args: { before: number; limit: number }): number => forget.run(args).changes,
      /**
       * Stores the number of incomplete validation attempts, one that starts included. False when the batch is not
       * validating.
       */
      countValidations: (args: { id: string; count: number }): boolean => countValidations.run(args).changes === 1,
      /**
       * validating → in_progress; totals are counted from the line rows. False when the batch was cancelled meanwhile.
       */
      begin: (args: { id: string; now: number; model: string }): boolean => begin.run(args).changes === 1,
      /**
       * validating → failed, with its events and the end of the response that it was to run. False when the batch was
       * cancelled meanwhile.
       */
      fail(args: {
        id: string;
        now: number;
        errors: string;
        model: string | null;
        events: NewEvent[];
        response?: Unanswered | null;
      }): boolean {
        const { events, response = null, ...row } = args;
        if (fail.run(row).changes === 0) return false;
        insertEvents(events);
        if (response !== null) endResponse(response);
        return true;
      },
      /** Cancels an open batch. A finalizing batch has no line left and completes: "unchanged". */
      cancel({ owner, id, now }: { owner: string; id: string; now: number }): Cancellation {
        const batch = get.get({ owner, id });
        if (batch === undefined) return { outcome: "absent" };
        switch (batch.status) {
          case "completed":
          case "failed":
          case "expired":
            return { outcome: "terminal", batch };
          case "validating":
          case "in_progress":
            cancel.run({ id, now });
            return { outcome: "cancelling", batch: { ...batch, status: "cancelling", cancellingAt: now } };
          default:
            return { outcome: "unchanged", batch };
        }
      },
      /** in_progress → finalizing. False unless every line is done or failed. */
      beginFinalizing: (args: { id: string; now: number }): boolean => beginFinalizing.run(args).changes === 1,
      /**
       * Second phase of finalization: file rows, terminal status, events, and the end of a response that its line did not
       * end, in one transaction. The files must be on disk, synced and verified. Returns false without a change when the batch's status does not lead to `status`, or
       * a line is pending or running.
       */
      finalize(args: {
        id: string;
        status: "completed" | "expired" | "cancelled";
        now: number;
        outputFile: FileRow | null;
        errorFile: FileRow | null;
        events: NewEvent[];
        response?: Unanswered | null;
      }): boolean {
        const { id, status, now, outputFile, errorFile, events, response = null } = args;
        const row = { id, status, now, outputFileId: outputFile?.id ?? null, errorFileId: errorFile?.id ?? null };
        if (finalize.run(row).changes === 0) return false;
        if (outputFile !== null) insertFile(outputFile);
        if (errorFile !== null) insertFile(errorFile);
        insertEvents(events);
        if (response !== null) endResponse(response);
        return true;
      },
    },
    rebuilds: {},
  };
}
