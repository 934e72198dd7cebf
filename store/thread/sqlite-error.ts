import Database from "better-sqlite3";
import { StoreError, type StoreErrorCode } from "../types/store-error.ts";

/** What SQLite or an operation threw, as a StoreError with the cause. See https://sqlite.org/rescode.html */
export function storeError(error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  const message = error instanceof Error ? error.message : String(error);
  if (!(error instanceof Database.SqliteError)) return new StoreError("internal", message, { cause: error });
  return new StoreError(codeOf(error.code), `${message} (${error.code})`, { cause: error });
}

function codeOf(code: string): StoreErrorCode {
  // Extended codes begin with the name of the primary one.
  if (code.startsWith("SQLITE_FULL")) return "full";
  if (code.startsWith("SQLITE_BUSY") || code.startsWith("SQLITE_LOCKED")) return "busy";
  if (code.startsWith("SQLITE_CONSTRAINT")) return "constraint";
  if (code.startsWith("SQLITE_CORRUPT") || code.startsWith("SQLITE_NOTADB")) return "corrupt";
  if (/^SQLITE_(IOERR|CANTOPEN|READONLY|PERM|AUTH|NOMEM|PROTOCOL)/.test(code)) return "io";
  return "internal";
}

/** Whether the whole transaction is lost with the operation that met this. */
export function endsTransaction(error: StoreError): boolean {
  return error.code === "full" || error.code === "io" || error.code === "corrupt" || error.code === "busy";
}
