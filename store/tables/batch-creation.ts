import type { Database } from "better-sqlite3";
import type { NewResponse } from "../types/answer-rows.ts";
import { BATCH, type BatchRow, NEW_BATCH, type NewBatch } from "../types/batch-row.ts";
import { erasedKeyOf } from "../types/erased-key.ts";
import type { Refusal } from "../types/storage.ts";
import { type Keeping, responseKeeping } from "./answers/responses.ts";
import { fileInsertion, fileRefusal, fileRemoval, type NewFile } from "./files.ts";

/**
 * Result of a creation. "conflict": the Idempotency-Key was used with another request. "too_many": the owner has
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
  /** The owner's storage has no room for the input file. */
  | { outcome: "file_refused"; refusal: Refusal }
  /** The response that the batch was to run was refused. */
  | { outcome: "not_kept"; keeping: Exclude<Keeping, "kept"> };

export interface CreationArgs {
  batch: NewBatch;
  idempotency: { key: string; requestSha256: string } | null;
  /** Null is no bound. */
  maxOpen: number | null;
  /** Most enqueued tokens of the batch's key; null is no bound. */
  maxTokens?: number | null;
  /** The stored API key of the request. */
  storedKeyId?: string | null;
  /** The input file, unless it was added before. */
  input?: NewFile | null;
  /** The background response that the batch runs. */
  response?: NewResponse | null;
}

/**
 * Open batches. In a condition beside it, `+` before the column keeps the planner on the index of open batches, as
 * terminal batches accumulate.
 */
export const OPEN = "status IN ('validating', 'in_progress', 'finalizing', 'cancelling')";

/** Estimated tokens of the remaining lines in a key's open batches, without the batch `except`. */
export function enqueuedTokensOf(db: Database): (args: { keyId: string; except: string }) => number {
  const enqueued = db.prepare<{ keyId: string; except: string }, { tokens: number }>(
    `SELECT coalesce(sum(max(0, estimated_tokens - settled_tokens)), 0) AS tokens FROM batches
     WHERE +key_id = @keyId AND id <> @except AND ${OPEN}`,
  );
  return (args) => enqueued.get(args)?.tokens ?? 0;
}

/** Inserts a batch, or returns the one that this owner created with the same Idempotency-Key. */
export function batchCreation(db: Database): (args: CreationArgs) => Creation {
  const isErased = erasedKeyOf(db);
  const enqueuedTokens = enqueuedTokensOf(db);
  const fileRefused = fileRefusal(db);
  const insertFile = fileInsertion(db);
  const removeFile = fileRemoval(db);
  const keep = responseKeeping(db);
  const keyed = db.prepare<{ owner: string; key: string }, { requestSha256: string; batchId: string }>(
    `SELECT request_sha256 AS requestSha256, batch_id AS batchId FROM idempotency WHERE owner = @owner AND key = @key`,
  );
  const get = db.prepare<{ owner: string; id: string }, BatchRow>(
    `SELECT ${BATCH.select} FROM batches WHERE id = @id AND owner = @owner`,
  );
  const openOf = db.prepare<{ owner: string }, { count: number }>(
    `SELECT count(*) AS count FROM batches WHERE +owner = @owner AND ${OPEN}`,
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
  const insert = db.prepare<NewBatch, BatchRow>(
    `INSERT INTO batches (${NEW_BATCH.names}, status) VALUES (${NEW_BATCH.values}, 'validating')
     RETURNING ${BATCH.select}`,
  );

  return (args) => {
    const { batch, idempotency, maxOpen, maxTokens = null, storedKeyId = null, input = null, response = null } = args;
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
      const before = enqueuedTokens({ keyId, except: batch.id });
      if (before + estimatedTokens > maxTokens) return { outcome: "too_many_tokens", enqueuedTokens: before };
    }
    const refusal = input === null ? null : fileRefused(input);
    if (refusal !== null) return { outcome: "file_refused", refusal };
    // The response's room is what the file leaves.
    if (input !== null) insertFile(input.row);
    const keeping = response === null ? "kept" : keep(response);
    if (keeping !== "kept") {
      if (input !== null) removeFile(input.row.id);
      return { outcome: "not_kept", keeping };
    }
    if (idempotency !== null) remember.run({ ...idempotency, owner, batchId: batch.id, createdAt });
    const row = insert.get(batch);
    if (row === undefined) throw new Error("INSERT … RETURNING gave no row");
    return { outcome: "created", batch: row };
  };
}
