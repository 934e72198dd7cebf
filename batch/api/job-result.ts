import { ApiError } from "../../openapi/api-error.ts";
import type { Batch } from "../../openapi/resources/batches.ts";

/** The line of a result file, as results.ts writes it. */
export interface ResultLine {
  response: { status_code: number; body: unknown } | null;
  error: { code: string; message: string } | null;
}

/**
 * What a job's call is answered with, once its batch is over.
 *
 * | the batch has | status | body |
 * |---|---|---|
 * | the line with a response | the response's | the response's, as the synchronous call's would be |
 * | the line, not run: expired or timed out | 504 | `batch_expired`, `request_timeout` |
 * | the line, not run: cancelled | 410 | `batch_cancelled` |
 * | the line, with another error | 500 | its code |
 * | no line: it was cancelled or expired while it was validated | the same | |
 * | no line: the model is not served any more, or its rules have changed | 404, 400 | what validation found |
 * | no line: its file was deleted | 410 | `job_deleted` |
 *
 * Throws an ApiError for all but the first: none of it would change by another try.
 */
export function jobResult(
  batch: Pick<Batch, "status" | "errors">,
  line: ResultLine | "deleted" | null,
): { statusCode: number; body: string } {
  if (line === "deleted") throw failure(410, "job_deleted", "The result of this job was deleted.");
  if (line?.response) return { statusCode: line.response.status_code, body: JSON.stringify(line.response.body) };
  if (line?.error) throw failure(STATUS[line.error.code] ?? 500, line.error.code, line.error.message);
  switch (batch.status) {
    case "cancelled":
      throw failure(410, "batch_cancelled", "This request was not executed because the job was cancelled.");
    case "expired":
      throw failure(504, "batch_expired", "This request could not be executed before the completion window expired.");
    default: {
      const [found] = batch.errors?.data ?? [];
      const code = found?.code ?? "internal_error";
      throw failure(code === "model_not_found" ? 404 : 400, code, found?.message ?? "The job failed.");
    }
  }
}

const STATUS: Record<string, number> = { batch_cancelled: 410, batch_expired: 504, request_timeout: 504 };

function failure(status: number, code: string, message: string): ApiError {
  const type = status < 500 ? "invalid_request_error" : "server_error";
  return new ApiError({ status, type, code, message, shouldRetry: false });
}
