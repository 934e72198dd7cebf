import Database from "better-sqlite3";
import { migrate } from "../../../store/migrate.ts";
import { MIGRATIONS } from "../../../store/schema/migrations.ts";
import { tables } from "../../../store/tables.ts";
import { newBatch, newLines } from "./rows.ts";

/** All operations on a database in memory, without thread or disk. */
export function memoryTables() {
  const db = new Database(":memory:");
  db.pragma("foreign_keys = ON");
  migrate(db, MIGRATIONS);
  return { db, ...tables(db) };
}
export type MemoryTables = ReturnType<typeof memoryTables>;

/** A batch in progress with lines 1…count. */
export function runningBatch({ batches, lines }: MemoryTables, id: string, count: number): void {
  batches.writes.create({ batch: newBatch(id), idempotency: null, maxOpen: null });
  lines.rebuilds.insert({ batchId: id, lines: newLines(count) });
  batches.writes.begin({ id, now: 1001, model: "demo" });
}
