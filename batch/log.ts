/** The part of a logger that the batch rooms use; no content of files ever goes into it. */
export interface Log {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}
