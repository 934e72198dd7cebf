/**
 * | code | meaning | retryable |
 * |---|---|---|
 * | busy | too many operations are queued, or another process holds the database for too long | yes |
 * | full | no space left on the disk; nothing of the operation was written | yes |
 * | io | the disk fails or refuses; nothing of the operation was written | yes |
 * | constraint | the operation breaks a rule of the schema | no |
 * | corrupt | the database file is damaged | no |
 * | newer | a later version of Nightshift wrote the database | no |
 * | locked | another server owns the data directory | no |
 * | closed | the store was closed, or its thread ended | no |
 * | internal | a defect of the program | no |
 */
export const STORE_ERROR_CODES = [
  "busy",
  "full",
  "io",
  "constraint",
  "corrupt",
  "newer",
  "locked",
  "closed",
  "internal",
] as const;
export type StoreErrorCode = (typeof STORE_ERROR_CODES)[number];

/** A rejected or failed operation. A failed write leaves no change. */
export class StoreError extends Error {
  override readonly name = "StoreError";
  readonly code: StoreErrorCode;

  constructor(code: StoreErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }

  get retryable(): boolean {
    return this.code === "busy" || this.code === "full" || this.code === "io";
  }
}

/**
 * True when a failed operation may have been committed: the store's thread may have ended between the commit and its
 * reply.
 */
export function mayBeCommitted(error: unknown): boolean {
  return error instanceof StoreError && error.code === "closed";
}
