import { type FileHandle, open } from "node:fs/promises";
import type { FileStore } from "../../files/file-store.ts";
import type { Caller } from "../../ledger/key.ts";
import {
  type MessageBatch,
  type MessageBatchRequest,
  type MessageBatchResult,
  messageBatchRequest,
} from "../../openapi/anthropic/batches.ts";
import { type AnthropicPage, type AnthropicPageQuery, anthropicPage } from "../../openapi/anthropic/page.ts";
import { ApiError, invalidRequest } from "../../openapi/api-error.ts";
import { validate } from "../../openapi/generation/validate.ts";
import { jsonBytes } from "../../openapi/json/json-pieces.ts";
import type { Batch } from "../../openapi/resources/batches.ts";
import { type Clock, epochSeconds } from "../../platform/clock.ts";
import type { Batches } from "./batches.ts";
import { lineParts } from "./line-parts.ts";
import { countUnrun, messageResults } from "./message-results.ts";
import { createWithInput, type WrittenInputDeps } from "./written-input.ts";

export interface MessageBatchesDeps {
  batches: WrittenInputDeps["batches"] & Pick<Batches, "get" | "cancel" | "marked">;
  files: WrittenInputDeps["files"] & Pick<FileStore, "get" | "remove" | "pathOf">;
  /** Bytes of a batch line at most. */
  maxLineBytes: number;
  clock: Clock;
}

/** Metadata key of these batches; its value is the number of requests. */
const MARK = "nightshift_message_batch";
/** Seconds from the creation for which results are kept. */
const KEPT_SECONDS = 29 * 86_400;

/**
 * Batches of Anthropic's API: each is a batch whose lines have the requests. `msgbatch_X` is `batch_X`. The params of a
 * request stand beside the model of the batch, so that they are checked when the line runs.
 */
export class MessageBatches {
  readonly #deps: MessageBatchesDeps;

  constructor(deps: MessageBatchesDeps) {
    this.#deps = deps;
  }

  /**
   * Durable when it resolves. Throws 400 for a body whose envelope is not valid, and 507 for a full disk or quota.
   *
   * @param serves whether the caller may use a model of this name
   */
  async create(caller: Caller, body: unknown, serves: (name: string) => boolean): Promise<MessageBatch> {
    const { requests } = validate(messageBatchRequest, body);
    const batch = await createWithInput(this.#deps, caller, {
      lines: this.#lines(requests, modelOf(requests, serves)),
      filename: "requests.jsonl",
      endpoint: "/v1/messages",
      metadata: { [MARK]: String(requests.length) },
      keptSeconds: KEPT_SECONDS,
    });
    return this.#object(caller.owner, batch);
  }

  /** Throws 404, also for another owner's batch. */
  async get(owner: string, id: string): Promise<MessageBatch> {
    return this.#object(owner, await this.#batch(owner, id));
  }

  /** Newest first, without deleted ones. Throws 400 for an id that names none of the owner's batches. */
  async list(owner: string, { limit, after_id, before_id }: AnthropicPageQuery): Promise<AnthropicPage<MessageBatch>> {
    const cursor = { after: ownId(after_id), before: ownId(before_id) };
    const { data, hasMore } = await this.#deps.batches.marked(owner, { mark: MARK, limit, ...cursor });
    const shown: MessageBatch[] = [];
    for (const batch of data.filter(isMessageBatch)) {
      if (!(await this.#isDeleted(owner, batch))) shown.push(await this.#object(owner, batch));
    }
    return anthropicPage(shown, hasMore);
  }

  /** Throws 404, or 400 for a batch that has ended. */
  async cancel(owner: string, id: string): Promise<MessageBatch> {
    const batch = await this.#batch(owner, id);
    const refusal = invalidRequest("invalid_value", null, "The batch cannot be canceled, since it has ended.");
    // Batches of OpenAI's API that were cancelled may be cancelled again.
    if (hasEnded(batch)) throw refusal;
    try {
      return await this.#object(owner, await this.#deps.batches.cancel(owner, batch.id));
    } catch (error) {
      throw error instanceof ApiError && error.key === "batch_ended" ? refusal : error;
    }
  }

  /** Removes requests and results. Throws 404, or 400 for a batch that has not ended. */
  async remove(owner: string, id: string): Promise<void> {
    const batch = await this.#batch(owner, id);
    if (!hasEnded(batch)) {
      throw invalidRequest("invalid_value", null, "The batch has not ended; cancel it before it is deleted.");
    }
    for (const file of filesOf(batch)) await this.#deps.files.remove(owner, file).catch(unlessGone);
  }

  /**
   * Throws 404, also for results that are gone, or 400 for a batch that has not ended. The files are open until the results
   * are read, or their reader leaves.
   */
  async results(owner: string, id: string): Promise<AsyncGenerator<MessageBatchResult>> {
    const { files } = this.#deps;
    const batch = await this.#batch(owner, id);
    if (!hasEnded(batch)) {
      throw invalidRequest("invalid_value", null, "The results are not available yet: the batch has not ended.");
    }
    for (const file of filesOf(batch)) await files.get(owner, file);
    const opened = await this.#opened(owner, filesOf(batch));
    return messageResults(batch, { input: opened.pop()!, results: opened });
  }

  async *#lines(requests: MessageBatchRequest["requests"], model: string): AsyncGenerator<Uint8Array> {
    for (const [index, { custom_id, params }] of requests.entries()) {
      const line = await jsonBytes({ custom_id, method: "POST", url: "/v1/messages", body: { model, params } });
      if (line.byteLength + 1 > this.#deps.maxLineBytes) {
        const message = `Invalid 'requests[${index}]': it has more than ${this.#deps.maxLineBytes} bytes.`;
        throw invalidRequest("invalid_value", `requests[${index}]`, message);
      }
      yield* lineParts(line);
    }
  }

  async #batch(owner: string, id: string): Promise<Batch> {
    const own = ownId(id);
    const batch = own === null ? null : await this.#deps.batches.get(owner, own).catch(unlessGone);
    if (batch !== null && isMessageBatch(batch) && !(await this.#isDeleted(owner, batch))) return batch;
    throw new ApiError("not_found", `No message batch found with id '${id.slice(0, 64)}'.`);
  }

  /** A batch is deleted with its files. Those of an archived one have expired. */
  async #isDeleted(owner: string, batch: Batch): Promise<boolean> {
    if (this.#archivedAt(batch) !== null) return false;
    return (await this.#deps.files.get(owner, batch.input_file_id).catch(unlessGone)) === null;
  }

  #archivedAt({ created_at }: Batch): number | null {
    const at = created_at + KEPT_SECONDS;
    return at <= epochSeconds(this.#deps.clock) ? at : null;
  }

  async #object(owner: string, batch: Batch): Promise<MessageBatch> {
    const endedAt = batch.completed_at ?? batch.failed_at ?? batch.expired_at ?? batch.cancelled_at;
    const archivedAt = this.#archivedAt(batch);
    const ended = hasEnded(batch);
    return {
      id: batch.id.replace("batch_", "msgbatch_"),
      type: "message_batch",
      processing_status: ended ? "ended" : batch.status === "cancelling" ? "canceling" : "in_progress",
      request_counts: await this.#counts(owner, batch),
      created_at: timeOf(batch.created_at),
      expires_at: timeOf(batch.expires_at),
      ended_at: ended && endedAt !== null ? timeOf(endedAt) : null,
      cancel_initiated_at: batch.cancelling_at === null ? null : timeOf(batch.cancelling_at),
      archived_at: archivedAt === null ? null : timeOf(archivedAt),
      results_url: ended && archivedAt === null ? "" : null,
    };
  }

  async #counts(owner: string, batch: Batch): Promise<MessageBatch["request_counts"]> {
    const none = { processing: 0, succeeded: 0, errored: 0, canceled: 0, expired: 0 };
    const total = Number(batch.metadata?.[MARK]) || batch.request_counts.total;
    if (!hasEnded(batch)) return { ...none, processing: total };
    const { completed: succeeded } = batch.request_counts;
    const rest = total - succeeded;
    if (batch.status === "completed" || batch.status === "failed") return { ...none, succeeded, errored: rest };
    const unrun = await this.#unrun(owner, batch, rest);
    return { ...none, succeeded, ...unrun, errored: rest - unrun.canceled - unrun.expired };
  }

  /** Of a batch that was cancelled or has expired, with `rest` requests that did not succeed. */
  async #unrun(owner: string, { status, error_file_id }: Batch, rest: number) {
    const opened = error_file_id === null ? null : await this.#opened(owner, [error_file_id]).catch(unlessGone);
    if (opened !== null) return countUnrun(opened[0]!);
    return status === "cancelled" ? { canceled: rest, expired: 0 } : { canceled: 0, expired: rest };
  }

  /** Opens all files before the first is read, so that a removal meanwhile takes none away. Throws 404 for one that is gone. */
  async #opened(owner: string, ids: readonly string[]): Promise<FileHandle[]> {
    const { files } = this.#deps;
    const opened: FileHandle[] = [];
    try {
      for (const id of ids) opened.push(await open(files.pathOf(id)));
      return opened;
    } catch (error) {
      for (const file of opened) await file.close();
      // Removed after its row was read.
      for (const id of ids) await files.get(owner, id);
      throw error;
    }
  }
}

/** The model of the batch: that of the first request which names one that the caller may use. */
function modelOf(requests: MessageBatchRequest["requests"], serves: (name: string) => boolean): string {
  const names = requests.map(({ params }) => params.model).filter((model) => typeof model === "string");
  const model = names.find(serves);
  if (model !== undefined) return model;
  throw new ApiError("model_not_found", "No request of the batch names a model that this server has.", {
    param: "requests[0].params.model",
  });
}

/** False also for a batch of OpenAI's API to whose metadata its client gave the mark. */
function isMessageBatch({ endpoint, metadata }: Batch): boolean {
  return endpoint === "/v1/messages" && /^\d{1,9}$/.test(metadata?.[MARK] ?? "");
}

function hasEnded({ status }: Batch): boolean {
  return ["completed", "failed", "expired", "cancelled"].includes(status);
}

function resultFiles({ output_file_id, error_file_id }: Batch): string[] {
  return [output_file_id, error_file_id].filter((id) => id !== null);
}

function filesOf(batch: Batch): string[] {
  return [...resultFiles(batch), batch.input_file_id];
}

/** The id of the batch; null for one that is no id of a message batch, and for none. */
function ownId(id: string): string | null;
function ownId(id: string | undefined): string | null;
function ownId(id: string | undefined): string | null {
  return id?.startsWith("msgbatch_") ? id.replace("msgbatch_", "batch_") : (id ?? null);
}

function timeOf(seconds: number): string {
  return new Date(seconds * 1000).toISOString();
}

function unlessGone(error: unknown): null {
  if (error instanceof ApiError && error.status === 404) return null;
  throw error;
}
