import type { StoreErrorCode } from "../types/store-error.ts";

/** From the server's thread to the store's threads. */
export type ToStore =
  | { type: "call"; id: number; table: string; name: string; args: readonly unknown[] }
  /** A copy of the write-ahead log ended or failed. */
  | { type: "copied" }
  /** Complete earlier calls, close, and answer "closed". */
  | { type: "close" };

export type FromStore =
  /** The names of all operations, by table. */
  | { type: "opened"; operations: Record<string, string[]> }
  | { type: "refused"; error: WireError }
  | { type: "replies"; replies: Reply[] }
  | { type: "state"; state: StoreState }
  /** Request to copy the write-ahead log on the other thread. */
  | { type: "copy" }
  | { type: "closed" };

/** The report thread's call for a log copy; not an operation of the store. */
export const COPY_LOG = { table: "log", name: "copy" } as const;

/** Groups paths `table.name` by table. */
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

/** Whether writes reach the disk. Reads may still work while they do not. */
export type StoreState = { writable: true } | { writable: false; code: StoreErrorCode; reason: string };

/** The task of a store thread. */
export interface StoreWork {
  part: "store" | "reports" | "check";
  dataDir: string;
}
