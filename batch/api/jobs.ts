import { readFile } from "node:fs/promises";
import type { FileStore } from "../../files/file-store.ts";
import type { Caller } from "../../ledger/key.ts";
import { ApiError } from "../../openapi/api-error.ts";
import { jsonBytes } from "../../openapi/json/json-pieces.ts";
import type { Batch, BatchEndpoint } from "../../openapi/resources/batches.ts";
import type { Job } from "../../openapi/resources/jobs.ts";
import type { NewResponse } from "../../store/types/answer-rows.ts";
import type { Batches } from "./batches.ts";
import { jobResult, type ResultLine } from "./job-result.ts";
import { lineParts } from "./line-parts.ts";
import { createWithInput, type WrittenInputDeps } from "./written-input.ts";

export interface JobsDeps {
  batches: WrittenInputDeps["batches"] & Pick<Batches, "get" | "cancel">;
  files: WrittenInputDeps["files"] & Pick<FileStore, "get" | "remove" | "pathOf">;
  /** Bytes of a batch line at most. */
  maxLineBytes: number;
}

/** A job that is not over, or the answer that the synchronous request would have had. */
export type JobState = { over: false; job: Job } | { over: true; statusCode: number; body: string };

/** Metadata key that marks the batch of a job. A client may set it on a batch of one line, which is then a job too. */
const MARK = "nightshift_job";
/** Seconds for which request and answer are kept. */
const KEPT_SECONDS = 30 * 86_400;
const ENDED: readonly Batch["status"][] = ["completed", "failed", "expired", "cancelled"];

/**
 * Deferred requests, each as a batch of one line. A job therefore survives a crash, is charged once, gets a greater share near
 * its deadline, and ends with the webhook of a batch. `job_X` is `batch_X`.
 */
export class Jobs {
  readonly #deps: JobsDeps;

  constructor(deps: JobsDeps) {
    this.#deps = deps;
  }

  /**
   * Durable when it resolves; null for a body that is too long for a line. Throws 507 for a full disk or quota, and
   * ResponseNotKept where the background response that the job runs is refused.
   */
  async create(
    caller: Caller,
    endpoint: BatchEndpoint,
    body: unknown,
    response: NewResponse | null = null,
  ): Promise<Job | null> {
    const line = await jsonBytes({ custom_id: "job", method: "POST", url: endpoint, body });
    // With the line break.
    if (line.byteLength + 1 > this.#deps.maxLineBytes) return null;
    const batch = await createWithInput(this.#deps, caller, {
      lines: lineParts(line),
      filename: "job.jsonl",
      endpoint,
      metadata: { [MARK]: "1" },
      keptSeconds: KEPT_SECONDS,
      response,
    });
    return jobOf(batch);
  }

  /** Throws 404, also for another owner's job; 410 when its result was deleted, or it was cancelled before it ran. */
  async get(owner: string, id: string): Promise<JobState> {
    const batch = await this.#batch(owner, id);
    if (!ENDED.includes(batch.status)) return { over: false, job: jobOf(batch) };
    const fileId = batch.output_file_id ?? batch.error_file_id;
    const line = fileId === null ? null : await this.#line(owner, fileId);
    return { over: true, ...jobResult(batch, line) };
  }

  /** Cancels a job that is not over; removes request and answer of a job that is over. Throws 404. */
  async remove(owner: string, id: string): Promise<Job> {
    const { files, batches } = this.#deps;
    const batch = await this.#batch(owner, id);
    if (!ENDED.includes(batch.status)) return jobOf(await batches.cancel(owner, batch.id));
    for (const file of [batch.output_file_id, batch.error_file_id, batch.input_file_id]) {
      if (file !== null) await files.remove(owner, file).catch(unlessGoneOrInUse);
    }
    return { ...jobOf(batch), status: "deleted" };
  }

  async #batch(owner: string, id: string): Promise<Batch> {
    const batch = id.startsWith("job_")
      ? await this.#deps.batches.get(owner, id.replace("job_", "batch_")).catch(unlessGone)
      : null;
    // An answer is read into memory as a whole, so only a batch of one line counts as a job.
    if (batch?.metadata?.[MARK] !== undefined && batch.request_counts.total <= 1) return batch;
    const message = `No job found with id '${id.slice(0, 64)}'.`;
    throw new ApiError("not_found", message, { param: "id" });
  }

  async #line(owner: string, fileId: string): Promise<ResultLine | "deleted"> {
    const { files } = this.#deps;
    if ((await files.get(owner, fileId).catch(unlessGone)) === null) return "deleted";
    try {
      const line: ResultLine = JSON.parse(await readFile(files.pathOf(fileId), "utf8"));
      return line;
    } catch (error) {
      // The file may have been deleted since its row was read.
      if ((await files.get(owner, fileId).catch(unlessGone)) === null) return "deleted";
      throw error;
    }
  }
}

function jobOf(batch: Batch): Job {
  const { phase, reason, eta } = batch.nightshift;
  return {
    id: batch.id.replace("batch_", "job_"),
    object: "nightshift.job",
    status: statusOf(batch.status, phase),
    endpoint: batch.endpoint,
    batch_id: batch.id,
    created_at: batch.created_at,
    expires_at: batch.expires_at,
    reason,
    eta,
  };
}

function statusOf(status: Batch["status"], phase: Batch["nightshift"]["phase"]): Job["status"] {
  if (ENDED.includes(status)) return "ended";
  if (status === "cancelling") return "cancelling";
  return phase === "running" || phase === "finalizing" ? "running" : "queued";
}

function unlessGone(error: unknown): null {
  if (error instanceof ApiError && error.status === 404) return null;
  throw error;
}

/** A file that another batch reads stays until it expires. */
function unlessGoneOrInUse(error: unknown): null {
  if (error instanceof ApiError && error.code === "file_in_use") return null;
  return unlessGone(error);
}
