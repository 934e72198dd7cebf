import { statfs } from "node:fs/promises";
import { ApiError, unavailable } from "../openapi/api-error.ts";

/** Between the two looks at the disk that one writer takes. */
export const BYTES_BETWEEN_CHECKS = 8 * 1024 * 1024;

/** Free bytes of the file system that holds a directory, for those who are not root. */
export type FreeBytes = (dir: string) => Promise<number>;

const freeBytesOf: FreeBytes = async (dir) => {
  const { bavail, bsize } = await statfs(dir);
  return bavail * bsize;
};

/**
 * Keeps the last `reserveBytes` of the disk from clients' files: the database, its log and the results of batches that
 * already run need them.
 */
export class DiskSpace {
  readonly #dir: string;
  readonly #reserveBytes: number;
  readonly #freeBytes: FreeBytes;

  constructor(dir: string, reserveBytes: number, freeBytes: FreeBytes = freeBytesOf) {
    this.#dir = dir;
    this.#reserveBytes = reserveBytes;
    this.#freeBytes = freeBytes;
  }

  /** Throws 507 when `bytes` more would reach into the reserve. */
  async check(bytes: number): Promise<void> {
    if ((await this.#freeBytes(this.#dir)) - bytes < this.#reserveBytes) throw diskFull();
  }
}

/** Space comes back when files are deleted, so a client that sends the same bytes again at once wastes them. */
function diskFull(): ApiError {
  const message = "The server's disk has no room for this file. Delete files, or ask its operator.";
  return new ApiError("insufficient_storage", message);
}

/** The quota of one owner's files is used up. */
export function overQuota(quotaBytes: number): ApiError {
  const message = `Your files would take more than the ${quotaBytes} bytes that you may store. Delete some, or let them expire.`;
  return new ApiError("storage_quota_exceeded", message);
}

/** The owner has as many files as it may. */
export function tooManyFiles(maxFiles: number): ApiError {
  const message = `You have the ${maxFiles} files that you may store. Delete some, or let them expire.`;
  return new ApiError("storage_quota_exceeded", message);
}

/** The owner has as many open uploads as it may. */
export function tooManyUploads(maxOpen: number): ApiError {
  const message = `You have the ${maxOpen} open uploads that you may have. Complete or cancel some, or let them expire.`;
  return new ApiError("storage_quota_exceeded", message);
}

const DISK_CODES = ["EIO", "EROFS", "EMFILE", "ENFILE", "EACCES", "EPERM"];

/** What a failed write means to the client: a full disk is 507, a failing one 503. Others stay what they are. */
export function writeFailure(error: unknown): unknown {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  if (code === "ENOSPC" || code === "EDQUOT") return diskFull();
  if (DISK_CODES.includes(code))
    return unavailable("storage_unavailable", "The server's disk does not take writes.", 10);
  return error;
}
