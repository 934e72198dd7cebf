import { statfs } from "node:fs/promises";
import { ApiError, unavailable } from "../openapi/api-error.ts";
import type { Refusal, StorageBounds } from "../store/types/storage.ts";

/** Bytes between two checks of the free space by one writer. */
export const BYTES_BETWEEN_CHECKS = 8 * 1024 * 1024;

/** Free bytes for unprivileged users on the file system of a directory. */
export type FreeBytes = (dir: string) => Promise<number>;

const freeBytesOf: FreeBytes = async (dir) => {
  const { bavail, bsize } = await statfs(dir);
  return bavail * bsize;
};

/** Reserves the last `reserveBytes` of the disk for the database, its log and the results of running batches. */
export class DiskSpace {
  readonly #dir: string;
  readonly #reserveBytes: number;
  readonly #freeBytes: FreeBytes;

  constructor(dir: string, reserveBytes: number, freeBytes: FreeBytes = freeBytesOf) {
    this.#dir = dir;
    this.#reserveBytes = reserveBytes;
    this.#freeBytes = freeBytes;
  }

  /** Throws 507 when `bytes` more would use the reserve. */
  async check(bytes: number): Promise<void> {
    if ((await this.#freeBytes(this.#dir)) - bytes < this.#reserveBytes) throw diskFull();
  }
}

/** Space comes back when files are deleted, so a client that sends the same bytes again at once wastes them. */
function diskFull(): ApiError {
  const message = "The server's disk has no space for this file. Delete files, or contact its operator.";
  return new ApiError("insufficient_storage", message);
}

/** Error: a file does not fit into its owner's storage. */
export function fileRefused(refusal: Refusal, { quotaBytes, maxFiles }: StorageBounds): ApiError {
  return refusal === "over_quota" ? overQuota(quotaBytes ?? 0) : tooManyFiles(maxFiles);
}

/** Error: the owner's storage quota is used up. */
export function overQuota(quotaBytes: number): ApiError {
  const message = `Your files and stored answers would exceed your storage quota of ${quotaBytes} bytes. Delete some, or let them expire.`;
  return new ApiError("storage_quota_exceeded", message);
}

/** Error: the owner's file limit is reached. */
function tooManyFiles(maxFiles: number): ApiError {
  const message = `You have reached your limit of ${maxFiles} files. Delete some, or let them expire.`;
  return new ApiError("storage_quota_exceeded", message);
}

/** Error: the owner's limit of open uploads is reached. */
export function tooManyUploads(maxOpen: number): ApiError {
  const message = `You have reached your limit of ${maxOpen} open uploads. Complete or cancel some, or let them expire.`;
  return new ApiError("storage_quota_exceeded", message);
}

const DISK_CODES = ["EIO", "EROFS", "EMFILE", "ENFILE", "EACCES", "EPERM"];

/**
 * Maps a failed write to an ApiError: 507 for a full disk, 503 for a failing one. Other errors are returned unchanged.
 */
export function writeFailure(error: unknown): unknown {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  if (code === "ENOSPC" || code === "EDQUOT") return diskFull();
  if (DISK_CODES.includes(code)) return unavailable("storage_unavailable", "The server's disk refuses writes.", 10);
  return error;
}
