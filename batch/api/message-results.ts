import type { FileHandle } from "node:fs/promises";
import { createInterface } from "node:readline";
import type { MessageBatchResult } from "../../openapi/anthropic/batches.ts";
import { anthropicErrorBody } from "../../openapi/anthropic/error.ts";
import { ApiError } from "../../openapi/api-error.ts";
import type { Batch } from "../../openapi/resources/batches.ts";
import type { ResultLine } from "./job-result.ts";

type Result = MessageBatchResult["result"];

/** The line of a file that these results are made of; an input has no outcome. */
type Line = { custom_id: string } & Partial<ResultLine & { response: { request_id?: string } | null }>;

/**
 * The results of a batch that has ended.
 *
 * @param results its result files; none for a batch that ended before any request ran
 * @param input its input file, whose requests then all have one result
 */
export async function* messageResults(
  batch: Pick<Batch, "status" | "errors">,
  { results, input }: { results: readonly FileHandle[]; input: FileHandle },
): AsyncGenerator<MessageBatchResult> {
  try {
    for (const file of results) {
      for await (const line of linesOf(file)) yield { custom_id: line.custom_id, result: resultOf(line) };
    }
    if (results.length > 0) return;
    for await (const line of linesOf(input)) yield { custom_id: line.custom_id, result: unrunResult(batch) };
  } finally {
    for (const file of [...results, input]) await file.close();
  }
}

/** The numbers of requests that were cancelled, and that expired, by the file of the requests that did not succeed. */
export async function countUnrun(file: FileHandle): Promise<{ canceled: number; expired: number }> {
  const counts = { canceled: 0, expired: 0 };
  for await (const { error } of linesOf(file)) {
    if (error?.code === "batch_cancelled") counts.canceled++;
    else if (error?.code === "batch_expired") counts.expired++;
  }
  return counts;
}

/** The lines of a file, which is closed behind them. */
async function* linesOf(file: FileHandle): AsyncGenerator<Line> {
  const input = file.createReadStream();
  try {
    const lines = createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY });
    for await (const text of lines) if (text !== "") yield JSON.parse(text) as Line;
  } finally {
    // A reader that leaves ends only the loop: the stream would keep the file open.
    input.destroy();
  }
}

function resultOf({ response, error }: Line): Result {
  if (response?.status_code === 200) return { type: "succeeded", message: batchMessage(response.body) };
  if (response != null) {
    const { body, request_id = "" } = response;
    return { type: "errored", error: { ...Object(body), request_id } };
  }
  switch (error?.code) {
    case "batch_cancelled":
      return { type: "canceled" };
    case "batch_expired":
      return { type: "expired" };
    default:
      return errored(new ApiError("internal_error", error?.message ?? "The request failed."));
  }
}

function unrunResult({ status, errors }: Pick<Batch, "status" | "errors">): Result {
  if (status === "cancelled") return { type: "canceled" };
  if (status === "expired") return { type: "expired" };
  const [found] = errors?.data ?? [];
  return errored(new ApiError("invalid_value", found?.message ?? "The batch failed."));
}

function errored(error: ApiError): Result {
  return { type: "errored", error: anthropicErrorBody(error, "") };
}

/** The synchronous answer, at the tier of batches. */
function batchMessage(body: unknown): Extract<Result, { type: "succeeded" }>["message"] {
  const message = Object(body) as Extract<Result, { type: "succeeded" }>["message"];
  return { ...message, usage: { ...message.usage, service_tier: "batch" } };
}
