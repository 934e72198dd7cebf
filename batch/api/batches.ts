import { createHash } from "node:crypto";
import { fileRefused } from "../../files/disk-space.ts";
import { type Caller, storedKeyId } from "../../ledger/key.ts";
import { ApiError, invalidRequest } from "../../openapi/api-error.ts";
import { validate } from "../../openapi/generation/validate.ts";
import { ownerErased } from "../../openapi/owner-erased.ts";
import { type Batch, type BatchRequest, batchRequest } from "../../openapi/resources/batches.ts";
import { type Clock, epochSeconds } from "../../platform/clock.ts";
import { isObjectId, objectId } from "../../platform/object-id.ts";
import type { Store } from "../../store/store.ts";
import type { Keeping } from "../../store/tables/answers/responses.ts";
import type { NewFile } from "../../store/tables/files.ts";
import type { NewResponse } from "../../store/types/answer-rows.ts";
import type { NewBatch } from "../../store/types/batch-row.ts";
import type { BatchRunner } from "../run/batch-runner.ts";
import { type TokenQuota, tooManyTokens } from "../validation/token-quota.ts";
import { batchObject } from "./batch-object.ts";
import { batchOfResponse } from "./response-batch.ts";

/** Terms of batches that are created from now on. */
export interface BatchTerms {
  /** Seconds from a batch's creation to its deadline. */
  windowSeconds: number;
  /** Most batches of one owner that are not over. */
  maxOpen: number;
}

export interface BatchesDeps extends BatchTerms {
  store: Pick<Store, "batches">;
  runner: Pick<BatchRunner, "schedule" | "progressOf">;
  quota: Pick<TokenQuota, "check">;
  clock: Clock;
}

export interface BatchPage {
  data: Batch[];
  hasMore: boolean;
}

/** A page of batches: after one, before one, or the first; not both. */
export interface MarkedQuery {
  mark: string;
  limit: number;
  after: string | null;
  before: string | null;
}

/** Rows that are created with a batch, in one transaction. */
export interface CreatedWith {
  /** Its input file, which is on disk. */
  input?: NewFile | null;
  /** The background response that it runs. */
  response?: NewResponse | null;
}

/** Characters of an Idempotency-Key. */
const MAX_KEY = 255;

/** The store refused the response that a batch was to run. */
export class ResponseNotKept extends Error {
  override readonly name = "ResponseNotKept";
  readonly keeping: Exclude<Keeping, "kept">;

  constructor(keeping: Exclude<Keeping, "kept">) {
    super(`The response was not kept: ${keeping}`);
    this.keeping = keeping;
  }
}

/** The batches of all owners, as batch objects. Every method throws ApiError or StoreError. */
export class Batches {
  readonly #deps: BatchesDeps;
  #terms: BatchTerms;

  constructor(deps: BatchesDeps) {
    this.#deps = deps;
    this.#terms = deps;
  }

  setTerms(terms: BatchTerms): void {
    this.#terms = terms;
  }

  /**
   * For an idempotency key that the owner has used before with the same request, the batch that was created then. Throws
   * ResponseNotKept where its background response is refused, and 507 where its input file is.
   */
  async create(
    caller: Caller,
    body: unknown,
    idempotencyKey: string | null,
    { input = null, response = null }: CreatedWith = {},
  ): Promise<Batch> {
    const request = checked(body);
    if (idempotencyKey !== null && (idempotencyKey === "" || idempotencyKey.length > MAX_KEY)) {
      throw invalidRequest("invalid_value", null, `The Idempotency-Key must have 1 to ${MAX_KEY} characters.`);
    }
    const { store, runner, quota, clock } = this.#deps;
    const { windowSeconds, maxOpen } = this.#terms;
    const { owner, key } = caller;
    const now = epochSeconds(clock);
    const expiresAt = now + windowSeconds;
    const replays = idempotencyKey !== null && (await store.batches.isKeyUsed({ owner, key: idempotencyKey }));
    const batch: NewBatch = {
      id: response === null ? objectId("batch_") : batchOfResponse(response.row.id),
      owner,
      keyId: key?.id ?? null,
      endpoint: request.endpoint,
      inputFileId: request.input_file_id,
      completionWindow: request.completion_window,
      metadata: request.metadata == null ? null : JSON.stringify(request.metadata),
      outputExpiresAfter: request.output_expires_after == null ? null : JSON.stringify(request.output_expires_after),
      createdAt: now,
      expiresAt,
      // A batch that was created before is returned again, also where no further batch is allowed.
      estimatedTokens: replays ? 0 : await quota.check(caller, request, expiresAt, input?.row ?? null),
    };
    const idempotency = idempotencyKey === null ? null : { key: idempotencyKey, requestSha256: fingerprintOf(request) };
    const creation = await store.batches.create({
      batch,
      idempotency,
      maxOpen,
      maxTokens: key?.limits.enqueuedTokens ?? null,
      storedKeyId: storedKeyId(key),
      input,
      response,
    });
    if (creation.outcome === "not_kept") throw new ResponseNotKept(creation.keeping);
    if (creation.outcome === "file_refused") throw fileRefused(creation.refusal, input!);
    if (creation.outcome === "erased") throw ownerErased();
    if (creation.outcome === "conflict") throw keyConflict();
    if (creation.outcome === "too_many") throw tooManyOpen(maxOpen);
    if (creation.outcome === "too_many_tokens") {
      throw tooManyTokens(key?.limits.enqueuedTokens ?? 0, creation.enqueuedTokens, batch.estimatedTokens);
    }
    if (creation.outcome === "created") runner.schedule(creation.batch.id);
    return this.#object(creation.batch);
  }

  /** Throws 404, also for another owner's batch. */
  async get(owner: string, id: string): Promise<Batch> {
    const row = isObjectId("batch_", id) ? await this.#deps.store.batches.get({ owner, id }) : null;
    if (row === null) throw noSuchBatch(id);
    return this.#object(row);
  }

  /** Newest first. Throws 400 for a cursor that names none of the owner's batches. */
  async list(owner: string, limit: number, after: string | null): Promise<BatchPage> {
    const page = await this.#deps.store.batches.list({ owner, limit, after });
    if (page === "unknown_cursor") {
      const message = `Invalid 'after': there is no batch '${after?.slice(0, 64)}'.`;
      throw invalidRequest("invalid_value", "after", message);
    }
    return { data: page.rows.map((row) => this.#object(row)), hasMore: page.hasMore };
  }

  /** The batches with this key in their metadata, newest first. Throws 400 as `list`. */
  async marked(owner: string, query: MarkedQuery): Promise<BatchPage> {
    const page = await this.#deps.store.batches.marked({ owner, ...query });
    if (page === "unknown_cursor") {
      const [param, id] = query.after === null ? ["before_id", query.before] : ["after_id", query.after];
      throw invalidRequest("invalid_value", param, `Invalid '${param}': there is no batch '${id?.slice(0, 64)}'.`);
    }
    return { data: page.rows.map((row) => this.#object(row)), hasMore: page.hasMore };
  }

  /** Throws 404, or 409 for a batch that is over. Harmless when it is cancelled already. */
  async cancel(owner: string, id: string): Promise<Batch> {
    const { store, runner, clock } = this.#deps;
    const outcome = isObjectId("batch_", id)
      ? await store.batches.cancel({ owner, id, now: epochSeconds(clock) })
      : ({ outcome: "absent" } as const);
    if (outcome.outcome === "absent") throw noSuchBatch(id);
    if (outcome.outcome === "terminal") {
      throw new ApiError("batch_ended", `Cannot cancel a batch with status '${outcome.batch.status}'.`);
    }
    if (outcome.outcome === "cancelling") runner.schedule(id);
    return this.#object(outcome.batch);
  }

  /** Cancels the batches that were created with this key and are not over. */
  async cancelAllOf(keyId: string): Promise<void> {
    for (const { owner, id } of await this.#deps.store.batches.openOfKey({ keyId })) {
      // It ended in between.
      await this.cancel(owner, id).catch((error: unknown) => {
        if (!(error instanceof ApiError)) throw error;
      });
    }
  }

  #object(row: Parameters<typeof batchObject>[0]): Batch {
    return batchObject(row, this.#deps.runner.progressOf(row));
  }
}

function checked(body: unknown): BatchRequest {
  try {
    return validate(batchRequest, body);
  } catch (error) {
    if (!(error instanceof ApiError) || !error.param?.startsWith("metadata")) throw error;
    // OpenAI answers with this code for every error in metadata.
    throw invalidRequest("invalid_type", error.param, error.message);
  }
}

/** Equal for equal requests, in any order of their fields. */
function fingerprintOf(request: BatchRequest): string {
  const { input_file_id, endpoint, completion_window, metadata, output_expires_after } = request;
  const pairs = Object.entries(metadata ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
  const parts = [input_file_id, endpoint, completion_window, pairs, output_expires_after?.seconds ?? null];
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex");
}

/** A 429, as of OpenAI for limits, with `x-should-retry: false`: clients would retry within seconds, and batches take hours. */
function tooManyOpen(maxOpen: number): ApiError {
  const message = `You have ${maxOpen} batches that are not over, which is the most. Wait for one to end, or cancel one.`;
  const code = "rate_limit_exceeded";
  return new ApiError(code, message);
}

function keyConflict(): ApiError {
  return new ApiError("idempotency_key_reused", "This Idempotency-Key was used before with another request.");
}

function noSuchBatch(id: string): ApiError {
  const message = `No batch found with id '${id.slice(0, 64)}'.`;
  return new ApiError("not_found", message, { param: "id" });
}
