import { ApiError } from "../../openapi/api-error.ts";
import type { ErrorKey } from "../../openapi/errors.ts";
import type { Batch } from "../../openapi/resources/batches.ts";

/** The line of a result file, as result-files.ts writes it. */
export interface ResultLine {
  response: { status_code: number; body: unknown } | null;
  error: { code: string; message: string } | null;
}

/**
 * The answer to a request for a job whose batch is over.
 *
 * | the batch has | status | body |
 * |---|---|---|
 * | the line with a response | the response's | the response's, as of the synchronous request |
 * | the line, not run: expired or timed out | 504 | `batch_expired`, `request_timeout` |
 * | the line, not run: cancelled | 410 | `batch_cancelled` |
 * | the line, with another error | 500 | its code |
 * | no line: it was cancelled or expired while it was validated | the same | |
 * | no line: the model is no longer served, or its rules have changed | 404, 400 | the error of validation |
 * | no line: its file was deleted | 410 | `job_deleted` |
 *
 * Throws an ApiError for all but the first, which a retry would not change.
 */
export function jobResult(
  batch: Pick<Batch, "status" | "errors">,
  line: ResultLine | "deleted" | null,
): { statusCode: number; body: string } {
  if (line === "deleted") throw failure("job_deleted", "The result of this job was deleted.");
  if (line?.response) return { statusCode: line.response.status_code, body: JSON.stringify(line.response.body) };
  if (line?.error) throw failure(KEYS[line.error.code] ?? "job_failed", line.error.message, line.error.code);
  switch (batch.status) {
    case "cancelled":
      throw failure("batch_cancelled", "This request was not executed because the job was cancelled.");
    case "expired":
      throw failure("batch_expired", "This request could not be executed before the completion window expired.");
    default: {
      const [found] = batch.errors?.data ?? [];
      if (found === undefined) throw failure("internal_error", "The job failed.");
      throw failure(KEYS[found.code] ?? "job_invalid", found.message, found.code);
    }
  }
}

/** By the code that is stored with the line or the batch: its entry of the catalogue. */
const KEYS: Record<string, ErrorKey> = {
  batch_cancelled: "batch_cancelled",
  batch_expired: "batch_expired",
  request_timeout: "job_timeout",
  model_not_found: "model_not_found",
};

function failure(key: ErrorKey, message: string, code?: string): ApiError {
  return new ApiError(key, message, { code, shouldRetry: false });
}
