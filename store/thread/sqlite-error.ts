import Database from "better-sqlite3";
import { StoreError, type StoreErrorCode } from "../types/store-error.ts";

/** Maps an error of SQLite or of an operation to a StoreError with its cause. See https://sqlite.org/rescode.html */
export function storeError(error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  const message = error instanceof Error ? error.message : String(error);
  if (!(error instanceof Database.SqliteError)) return new StoreError("internal", message, { cause: error });
  return new StoreError(codeOf(error.code), `${message} (${error.code})`, { cause: error });
}

function codeOf(code: string): StoreErrorCode {
  // Extended codes begin with the primary code's name.
  if (code.startsWith("SQLITE_FULL")) return "full";
  if (code.startsWith("SQLITE_BUSY") || code.startsWith("SQLITE_LOCKED")) return "busy";
  if (code.startsWith("SQLITE_CONSTRAINT")) return "constraint";
  if (code.startsWith("SQLITE_CORRUPT") || code.startsWith("SQLITE_NOTADB")) return "corrupt";
  if (/^SQLITE_(IOERR|CANTOPEN|READONLY|PERM|AUTH|NOMEM|PROTOCOL)/.test(code)) return "io";
  return "internal";
}

/** True when the error ends the whole transaction, not the one operation. */
export function endsTransaction(error: StoreError): boolean {
  return error.code === "full" || error.code === "io" || error.code === "corrupt" || error.code === "busy";
}
