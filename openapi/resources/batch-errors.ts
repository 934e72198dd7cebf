import type { BatchError } from "./batches.ts";

/** The codes in `errors.data` of a batch that failed validation. docs/batches.md has a table of them. */
export const BATCH_ERRORS = {
  empty_file: "The file has no lines; `line` is null.",
  too_many_lines: "The file has more than 50,000 lines; `line` is null.",
  invalid_json_line:
    "The line is not a JSON object, has a NUL character or a lone surrogate in a string, or exceeds a bound of parsing that `message` names.",
  missing_required_parameter: "`custom_id`, `method`, `url` or `body` is missing.",
  invalid_type: "`custom_id` is not a string.",
  invalid_value: "`custom_id` has more than 512 characters.",
  duplicate_custom_id: "An earlier line has the same `custom_id`.",
  invalid_method: "`method` is not `POST`.",
  invalid_url: "`url` is not the `endpoint` of the batch.",
  model_not_found: "The server has no such model, or the API key may not use it.",
  mismatched_model: "The model is not that of the first line.",
  streaming_unsupported: "`stream` is true.",
  too_many_inputs: "With this line the batch has more than 50,000 inputs of embeddings.",
  invalid_request:
    "The line is too long, or its endpoint refuses the body with this `param` and `message`. With `line` null: the file cannot be read.",
  insufficient_quota: "The batch would cost more than the budgets have left until its window ends; `line` is null.",
  token_limit_exceeded: "The batches of the API key would have more enqueued tokens than its limit; `line` is null.",
  validation_failed: "The process that checks the file ended three times before it was done; `line` is null.",
  more_errors: "100 errors are listed; `message` says how many more there are.",
} as const;
export type BatchErrorCode = keyof typeof BATCH_ERRORS;

/** The codes in `error` of a result line without a response. docs/batches.md has a table of them. */
export const LINE_ERRORS = {
  batch_cancelled: "The batch was cancelled before the line ran.",
  batch_expired: "The window of the batch ended before the line ran.",
  request_timeout: "The line ran for longer than one line may.",
  engine_died: "The engine died again and again while the line was the only one of a batch in it.",
} as const;
type LineErrorCode = keyof typeof LINE_ERRORS;

/** An error of the whole batch, or of the field that `param` names. */
export function batchError(code: BatchErrorCode, message: string, param: string | null = null): BatchError {
  return { code, message, param, line: null };
}

/** The `error` of a result line, as it is stored. */
export function lineError(code: LineErrorCode, message: string): string {
  return JSON.stringify({ code, message });
}
