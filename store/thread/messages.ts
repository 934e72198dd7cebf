import type { StoreErrorCode } from "../types/store-error.ts";

/** Between the server's thread and the one that owns the database. */
export type ToStore =
  | { type: "call"; id: number; table: string; name: string; args: readonly unknown[] }
  /** The write-ahead log was copied, or could not be. */
  | { type: "copied" }
  /** Finish what came before, close, and say so. */
  | { type: "close" };

export type FromStore =
  /** The names of all operations, by table. */
  | { type: "opened"; operations: Record<string, string[]> }
  | { type: "refused"; error: WireError }
  | { type: "replies"; replies: Reply[] }
  | { type: "state"; state: StoreState }
  /** The write-ahead log is to be copied by another thread. */
  | { type: "copy" }
  | { type: "closed" };

/** What the thread of reports is called for when the store's asks for a copy; no operation of a store. */
export const COPY_LOG = { table: "log", name: "copy" } as const;

/** Of paths `table.name`. */
export function namesOf(paths: readonly string[]): Record<string, string[]> {
  const names: Record<string, string[]> = {};
  for (const path of paths) {
    const [table = "", name = ""] = path.split(".");
    names[table] ??= [];
    names[table].push(name);
  }
  return names;
}

export type Reply = { id: number; result: unknown } | { id: number; error: WireError };

export interface WireError {
  code: StoreErrorCode;
  message: string;
}

/** Whether writes reach the disk; reads may still work while they do not. */
export type StoreState = { writable: true } | { writable: false; code: StoreErrorCode; reason: string };

/** What a thread of the store does. */
export interface StoreWork {
  part: "store" | "reports" | "check";
  dataDir: string;
}
