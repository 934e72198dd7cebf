import { ApiError, invalidRequest } from "../openapi/api-error.ts";
import type { FilePurpose } from "../openapi/resources/files.ts";

const MiB = 1024 * 1024;

/** OpenAI's limits are in units of 2^20 bytes: a file of exactly 64 · 1024 · 1024 bytes fits. */
export const MAX_BATCH_BYTES = 200 * MiB;
export const MAX_FILE_BYTES = 512 * MiB;
export const MAX_PART_BYTES = 64 * MiB;
export const MAX_UPLOAD_BYTES = 8192 * MiB;

const BATCH_LIFETIME_SECONDS = 30 * 86_400;

/** Throws 400 for a batch file not named `.jsonl`, 413 for one that is too large. */
export function checkForPurpose(purpose: FilePurpose, filename: string, bytes: number, sizeParam = "file"): void {
  if (purpose !== "batch") return;
  if (!filename.toLowerCase().endsWith(".jsonl")) {
    const message = `Invalid file format for Batch API. Must be .jsonl, but the file is named '${filename.slice(-64)}'.`;
    throw invalidRequest("invalid_file_format", "file", message);
  }
  if (bytes > MAX_BATCH_BYTES) throw tooLarge(sizeParam, MAX_BATCH_BYTES);
}

/** Default lifetime in seconds of a file of this purpose; null is without end. */
export function defaultLifetime(purpose: FilePurpose): number | null {
  return purpose === "batch" ? BATCH_LIFETIME_SECONDS : null;
}

export function tooLarge(param: string, limit: number): ApiError {
  const message = `'${param}' is larger than the limit of ${limit / MiB} MB.`;
  return new ApiError("file_too_large", message, { param });
}
