/** A backup or restore that cannot be done as requested; the message has the reason and needs no stack. */
export class BackupError extends Error {
  override readonly name = "BackupError";
}
