import type { Database } from "better-sqlite3";
import type { BatchStatus } from "../../openapi/resources/batches.ts";
import type { NewResponse } from "../types/answer-rows.ts";
import { BATCH, type BatchRow, NEW_BATCH, type NewBatch } from "../types/batch-row.ts";
import { type Page, page } from "../types/cursor-page.ts";
import { erasedKeyOf } from "../types/erased-key.ts";
import { type Keeping, responseKeeping } from "./answers/responses.ts";
import { type Unanswered, unansweredEnd } from "./background.ts";
import { type FileRow, fileInsertion } from "./files.ts";
import { eventInsertion, type NewEvent } from "./outbox.ts";

/**
 * Result of `create`. "conflict": the Idempotency-Key was used with another request. "too_many": the owner has
 * `maxOpen` open batches. "too_many_tokens": with this batch, the open batches of its key would exceed its enqueued
 * tokens.
 */
export type Creation =
  | { outcome: "created" | "replayed"; batch: BatchRow }
  | { outcome: "conflict" }
  | { outcome: "too_many" }
  /** The owner of the request's key was erased. */
  | { outcome: "erased" }
  | { outcome: "too_many_tokens"; enqueuedTokens: number }
  /** The response that the batch was to run was refused. */
  | { outcome: "not_kept"; keeping: Exclude<Keeping, "kept"> };

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

/**
 * Open batches. In a condition beside it, `+` before the column keeps the planner on the index of open batches, as
 * terminal batches accumulate.
 */
const OPEN = "status IN ('validating', 'in_progress', 'finalizing', 'cancelling')";
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
  const isErased = erasedKeyOf(db);
  const insertEvents = eventInsertion(db);
  const keep = responseKeeping(db);
  const endResponse = unansweredEnd(db);
  const insert = db.prepare<NewBatch, BatchRow>(
    `INSERT INTO batches (${NEW_BATCH.names}, status) VALUES (${NEW_BATCH.values}, 'validating')
     RETURNING ${BATCH.select}`,
  );
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
  const openOf = db.prepare<{ owner: string }, { count: number }>(
    `SELECT count(*) AS count FROM batches WHERE +owner = @owner AND ${OPEN}`,
  );
  const enqueued = db.prepare<{ keyId: string; except: string }, { tokens: number }>(
    `SELECT coalesce(sum(max(0, estimated_tokens - settled_tokens)), 0) AS tokens FROM batches
     WHERE +key_id = @keyId AND id <> @except AND ${OPEN}`,
  );
  const enqueuedTokens = (keyId: string, except: string) => enqueued.get({ keyId, except })?.tokens ?? 0;
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
  const keyed = db.prepare<{ owner: string; key: string }, { requestSha256: string; batchId: string }>(
    `SELECT request_sha256 AS requestSha256, batch_id AS batchId FROM idempotency WHERE owner = @owner AND key = @key`,
  );
  const remember = db.prepare<{
    owner: string;
    key: string;
    requestSha256: string;
    batchId: string;
    createdAt: number;
  }>(
    `INSERT INTO idempotency (owner, key, request_sha256, batch_id, created_at)
     VALUES (@owner, @key, @requestSha256, @batchId, @createdAt)`,
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
      enqueuedTokens: (args: { keyId: string; except: string }): number => enqueuedTokens(args.keyId, args.except),
      /** Batches in progress, the nearest deadline first. */
      backlog: (): BatchBacklog[] => backlog.all(),
      /** Terminal batches that still have line rows, for the clean-up after a restart. */
      leftovers: (args: { limit: number }): string[] => leftovers.all(args).map(({ id }) => id),
    },
    writes: {
      /** Inserts a batch, or returns the one that this owner created with the same Idempotency-Key. */
      create(args: {
        batch: NewBatch;
        idempotency: { key: string; requestSha256: string } | null;
        /** Null is no bound. */
        maxOpen: number | null;
        /** Most enqueued tokens of the batch's key; null is no bound. */
        maxTokens?: number | null;
        /** The stored API key of the request. */
        storedKeyId?: string | null;
        /** The background response that the batch runs. */
        response?: NewResponse | null;
      }): Creation {
        const { batch, idempotency, maxOpen, maxTokens = null, storedKeyId = null, response = null } = args;
        if (isErased(storedKeyId)) return { outcome: "erased" };
        const { owner, keyId, createdAt, estimatedTokens } = batch;
        if (idempotency !== null) {
          const used = keyed.get({ owner, key: idempotency.key });
          if (used !== undefined) {
            const made = get.get({ owner, id: used.batchId });
            if (made === undefined || used.requestSha256 !== idempotency.requestSha256) return { outcome: "conflict" };
            return { outcome: "replayed", batch: made };
          }
        }
        if (maxOpen !== null && (openOf.get({ owner })?.count ?? 0) >= maxOpen) return { outcome: "too_many" };
        if (maxTokens !== null && keyId !== null) {
          const before = enqueuedTokens(keyId, batch.id);
          if (before + estimatedTokens > maxTokens) return { outcome: "too_many_tokens", enqueuedTokens: before };
        }
        const keeping = response === null ? "kept" : keep(response);
        if (keeping !== "kept") return { outcome: "not_kept", keeping };
        if (idempotency !== null) remember.run({ ...idempotency, owner, batchId: batch.id, createdAt });
        const row = insert.get(batch);
        if (row === undefined) throw new Error("INSERT … RETURNING gave no row");
        return { outcome: "created", batch: row };
      },
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
