import Database from "better-sqlite3";
import { MIGRATIONS } from "../../../store/schema/migrations.ts";
import { tables } from "../../../store/tables/tables.ts";
import { migrate } from "../../../store/thread/migrate.ts";
import type { NewKey } from "../../../store/types/key-row.ts";
import { newBatch, newLines } from "./rows.ts";

/** All operations on an in-memory database, without threads. */
export function memoryTables() {
  const db = new Database(":memory:");
  db.pragma("foreign_keys = ON");
  migrate(db, MIGRATIONS);
  return { db, ...tables(db) };
}
export type MemoryTables = ReturnType<typeof memoryTables>;

/** A batch in progress with lines 1 to `count`. */
export function runningBatch({ batches, lines }: MemoryTables, id: string, count: number): void {
  batches.writes.create({ batch: newBatch(id), idempotency: null, maxOpen: null });
  lines.rebuilds.insert({ batchId: id, lines: newLines(count) });
  batches.writes.begin({ id, now: 1001, model: "demo" });
}

/** A key without limits. */
export const KEY_ROW: NewKey = {
  id: "key_1",
  prefix: "ns_1",
  hash: "0".repeat(64),
  owner: "local",
  createdAt: 1,
  name: "a key",
  scopes: '["inference"]',
  models: null,
  tiers: null,
  metadata: null,
  requestsPerMinute: null,
  tokensPerMinute: null,
  concurrent: null,
  enqueuedTokens: null,
  storageBytes: null,
  dailyNano: null,
  monthlyNano: null,
  softRatio: null,
  expiresAt: null,
};
