/** A backup can't be made or used as it was asked; the message says why and needs no stack. */
export class BackupError extends Error {
  override readonly name = "BackupError";
}
