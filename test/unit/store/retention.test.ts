import { expect, test } from "vitest";
import { KEY_ROW, type MemoryTables, memoryTables } from "./memory-tables.ts";
import { fileRow, ledgerRow, newBatch, newLines } from "./rows.ts";

const expiry = { before: 1000, limit: 2 };

function count({ db }: MemoryTables, table: string): number {
  return Number(db.prepare(`SELECT count(*) FROM ${table}`).pluck().get());
}

test("old ledger rows are removed in steps, and their sums stay", () => {
  const tables = memoryTables();
  const { ledger, retention, usage, budgets } = tables;
  ledger.writes.insert({ rows: [10, 20, 30, 1000].map((time) => ledgerRow({ time })) });
  const removed = () => retention.writes.removeLedgerRows(expiry);
  expect([removed(), removed(), removed()]).toEqual([2, 1, 0]);
  expect(count(tables, "ledger")).toBe(1);
  const groupBy = { owner: false, keyId: false, endpoint: false, model: false, batch: false, tier: false };
  const none = { kind: null, owners: null, keyIds: null, models: null, batch: null, groupBy };
  const sums = usage.reports.sums({ ...none, start: 0, end: 86_400, width: 86_400, limit: 10 });
  expect(sums).toMatchObject([{ requests: 4, costNano: 4000 }]);
  expect(budgets.reads.spent({ owner: "local", day: 0 }).dayNano).toBe(4000);
});

test("old batches are removed once terminal and cleaned up", () => {
  const tables = memoryTables();
  const { batches, lines, retention } = tables;
  const create = (id: string, createdAt: number) =>
    batches.writes.create({ batch: newBatch(id, { createdAt }), idempotency: null, maxOpen: null });
  const fail = (id: string) => batches.writes.fail({ id, now: 10, errors: "{}", model: null, events: [] });
  for (const id of ["running", "over", "uncleaned"]) create(id, 1);
  create("young", 1000);
  lines.rebuilds.insert({ batchId: "uncleaned", lines: newLines(1) });
  for (const id of ["over", "uncleaned", "young"]) fail(id);
  expect(retention.writes.removeBatches({ before: 1000, limit: 10 })).toBe(1);
  expect(["running", "over", "uncleaned", "young"].map((id) => batches.reads.find({ id })?.id ?? null)).toEqual([
    "running",
    null,
    "uncleaned",
    "young",
  ]);
  expect(batches.reads.counts()).toEqual([
    { status: "failed", count: 2 },
    { status: "validating", count: 1 },
  ]);
});

test("old files are removed unless an open batch reads them", () => {
  const { files, batches, retention } = memoryTables();
  const add = (id: string, createdAt: number) =>
    files.writes.insert({ row: fileRow(id, { createdAt }), quotaBytes: null, maxFiles: 1000 });
  add("file-in", 1);
  add("file-old", 1);
  add("file-young", 1000);
  batches.writes.create({ batch: newBatch("b"), idempotency: null, maxOpen: null });
  expect(retention.writes.removeFiles(expiry)).toEqual(["file-old"]);
  batches.writes.fail({ id: "b", now: 10, errors: "{}", model: null, events: [] });
  expect(retention.writes.removeFiles(expiry)).toEqual(["file-in"]);
});

test("revoked and expired keys are removed once they have no open batch", () => {
  const tables = memoryTables();
  const { keys, batches, retention } = tables;
  for (const id of ["valid", "revoked", "busy"]) keys.writes.insert({ ...KEY_ROW, id, prefix: id });
  keys.writes.insert({ ...KEY_ROW, id: "expired", prefix: "expired", expiresAt: 500 });
  for (const id of ["revoked", "busy"]) keys.writes.revoke({ id, now: 500 });
  batches.writes.create({ batch: newBatch("b", { keyId: "busy" }), idempotency: null, maxOpen: null });
  expect(retention.writes.removeKeys(expiry)).toBe(2);
  expect(["valid", "revoked", "busy", "expired"].filter((id) => keys.reads.get({ id }) !== null)).toEqual([
    "valid",
    "busy",
  ]);
});
