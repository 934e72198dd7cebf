import { describe, expect, it, test } from "vitest";
import { jobResult, type ResultLine } from "../../../../batch/api/job-result.ts";
import { ApiError } from "../../../../openapi/api-error.ts";
import type { Batch, BatchError } from "../../../../openapi/resources/batches.ts";

type Ended = Pick<Batch, "status" | "errors">;

const COMPLETED: Ended = { status: "completed", errors: null };

function failed(batch: Ended, line: ResultLine | "deleted" | null): ApiError {
  try {
    jobResult(batch, line);
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
  throw new Error("It is answered");
}

function unrun(code: string): ResultLine {
  return { response: null, error: { code, message: `It is ${code}.` } };
}

function invalid(code: string): Ended {
  const error: BatchError = { code, message: "Bad.", param: "body.model", line: 1 };
  return { status: "failed", errors: { object: "list", data: [error] } };
}

describe("the result of a job", () => {
  it("is the answer of its line, also after the batch was cancelled or expired", () => {
    for (const status of ["completed", "cancelled", "expired"] as const) {
      const line = { response: { status_code: 418, body: { a: 1 } }, error: null };
      expect(jobResult({ status, errors: null }, line)).toEqual({ statusCode: 418, body: '{"a":1}' });
    }
  });

  test.each<[string, Ended, ResultLine | "deleted" | null, number, string]>([
    ["expired", { ...COMPLETED, status: "expired" }, unrun("batch_expired"), 504, "batch_expired"],
    ["timed out", COMPLETED, unrun("request_timeout"), 504, "request_timeout"],
    ["cancelled", { ...COMPLETED, status: "cancelled" }, unrun("batch_cancelled"), 410, "batch_cancelled"],
    ["killed the engine", COMPLETED, unrun("engine_died"), 500, "engine_died"],
    ["cancelled before validation", { ...COMPLETED, status: "cancelled" }, null, 410, "batch_cancelled"],
    ["expired before validation", { ...COMPLETED, status: "expired" }, null, 504, "batch_expired"],
    ["of a model that is gone", invalid("model_not_found"), null, 404, "model_not_found"],
    ["not valid any more", invalid("invalid_request"), null, 400, "invalid_request"],
    ["failed without a reason", { status: "failed", errors: null }, null, 500, "internal_error"],
    ["deleted", COMPLETED, "deleted", 410, "job_deleted"],
  ])("%s is an error that no retry would change", (_, batch, line, status, code) => {
    expect(failed(batch, line)).toMatchObject({ status, code, shouldRetry: false });
  });
});
