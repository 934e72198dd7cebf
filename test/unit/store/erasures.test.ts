import { expect, test } from "vitest";
import { KEY_ROW, type MemoryTables, memoryTables } from "./memory-tables.ts";
import { fileRow, ledgerRow, newBatch, newEvent } from "./rows.ts";

const erasure = { owner: "gone", requestedAt: 5000 };
const step = { ...erasure, limit: 2 };
/** Tables with rows of owners. The last two keep their sums. */
const TABLES = ["keys", "batches", "files", "uploads", "idempotency", "ledger", "owners", "usage_hours", "spending"];

/** Inserts a row into every table. */
function fill(tables: MemoryTables, owner: string): void {
  const { keys, batches, files, uploads, ledger, budgets } = tables;
  keys.writes.insert({ ...KEY_ROW, id: `key_${owner}`, prefix: owner, owner, metadata: '{"user":"somebody"}' });
  for (const name of ["a", "b", "c"]) {
    files.writes.insert({ row: fileRow(`file-${owner}-${name}`, { owner }), quotaBytes: null, maxFiles: 1000 });
    const id = `batch_${owner}_${name}`;
    const batch = newBatch(id, { owner, keyId: `key_${owner}`, metadata: '{"user":"somebody"}' });
    batches.writes.create({ batch, idempotency: { key: name, requestSha256: "00" }, maxOpen: null });
    ledger.writes.insert({ rows: [ledgerRow({ owner, keyId: `key_${owner}`, time: 4000 })] });
  }
  uploads.writes.insert({
    row: {
      id: `upload_${owner}`,
      owner,
      filename: "somebody.txt",
      purpose: "batch",
      bytes: 10,
      mimeType: "text/plain",
      fileExpiresAfter: null,
      status: "pending",
      createdAt: 1000,
      expiresAt: 9000,
      fileId: null,
    },
    maxOpen: 10,
  });
  const part = { id: `part_${owner}`, uploadId: `upload_${owner}`, bytes: 1, md5: "0", createdAt: 1000 };
  uploads.writes.addPart({ owner, part, quotaBytes: null, maxParts: 10, now: 1000 });
  budgets.writes.setOwner({ owner, dailyNano: 1, monthlyNano: null, softRatio: 0.5 });
  const type = "nightshift.budget.warning";
  const event = newEvent(`evt_${owner}`, { type, payload: JSON.stringify({ data: { id: owner } }) });
  budgets.writes.warn({ warning: { scope: "owner", subject: owner, period: "daily", firstDay: 0 }, events: [event] });
}

function rowsOf({ db }: MemoryTables, owner: string): Record<string, number> {
  const count = (table: string) => {
    const column = table === "spending" ? "scope = 'owner' AND subject" : "owner";
    return Number(db.prepare(`SELECT count(*) FROM ${table} WHERE ${column} = ?`).pluck().get(owner));
  };
  return Object.fromEntries(TABLES.map((table) => [table, count(table)]));
}

/** Repeats a step until it has nothing left to do. */
function exhaust(remove: () => number): number {
  let sum = 0;
  for (let removed = remove(); removed > 0; removed = remove()) sum += removed;
  return sum;
}

test("an erasure leaves only the owner's sums and removes nothing of other owners", () => {
  const tables = memoryTables();
  const { erasures, batches, keys, outbox } = tables;
  for (const owner of ["gone", "here"]) fill(tables, owner);
  const before = rowsOf(tables, "here");
  expect(erasures.writes.begin(erasure)).toEqual(erasure);
  expect(keys.reads.get({ id: "key_gone" })?.revokedAt).toBe(5000);
  expect(erasures.reads.endedBatches(step)).toEqual({ seqs: [], fileIds: [] });
  for (const id of erasures.reads.openBatches(erasure)) {
    batches.writes.fail({ id, now: 5001, errors: "{}", model: null, events: [] });
  }
  const removeBatches = () => {
    const ended = erasures.reads.endedBatches(step);
    erasures.writes.removeBatches(ended);
    return ended.seqs.length;
  };
  expect(exhaust(removeBatches)).toBe(3);
  expect(erasures.reads.hasBatches(erasure)).toBe(false);
  expect(erasures.writes.removeUploads(step)).toEqual({ removed: 1, partIds: ["part_gone"] });
  const removeFiles = () => {
    const ids = erasures.reads.files(step);
    erasures.writes.removeFiles({ ids });
    return ids.length;
  };
  expect(exhaust(removeFiles)).toBe(3);
  exhaust(() => erasures.writes.removeRows({ ...step, now: 6000 }));
  expect(erasures.writes.end(erasure)).toBe(true);
  expect(rowsOf(tables, "gone")).toEqual({
    ...Object.fromEntries(TABLES.map((name) => [name, 0])),
    usage_hours: 1,
    spending: 1,
  });
  expect(rowsOf(tables, "here")).toEqual(before);
  expect(outbox.reads.due({ nowMs: 1e15, limit: 10 }).map(({ id }) => id)).toEqual(["evt_here"]);
  expect(erasures.reads.list()).toEqual([]);
});

test("a batch's result files are erased with it, also those of its cancellation", () => {
  const { erasures, batches, lines, files } = memoryTables();
  batches.writes.create({ batch: newBatch("b", { owner: "gone" }), idempotency: null, maxOpen: null });
  batches.writes.cancel({ owner: "gone", id: "b", now: 5000 });
  const errorFile = fileRow("file-error", { owner: "gone", createdAt: 6000 });
  batches.writes.finalize({ id: "b", status: "cancelled", now: 6000, outputFile: null, errorFile, events: [] });
  expect(lines.reads.counts({ batchId: "b" })).toEqual([]);
  const ended = erasures.reads.endedBatches(step);
  expect(ended).toEqual({ seqs: [1], fileIds: ["file-error"] });
  erasures.writes.removeBatches(ended);
  expect(erasures.reads.hasBatches(erasure)).toBe(false);
  expect(files.reads.get({ owner: "gone", id: "file-error" })).toBeNull();
});

test("newer data than the erasure's request stays until a second request", () => {
  const { erasures, files, keys } = memoryTables();
  erasures.writes.begin(erasure);
  files.writes.insert({
    row: fileRow("file-later", { owner: "gone", createdAt: 5001 }),
    quotaBytes: null,
    maxFiles: 1000,
  });
  keys.writes.insert({ ...KEY_ROW, id: "key_later", owner: "gone", createdAt: 5001 });
  expect(erasures.reads.files(step)).toEqual([]);
  expect(erasures.writes.removeRows({ ...step, now: 6000 })).toBe(0);
  const second = erasures.writes.begin({ owner: "gone", requestedAt: 6000 });
  expect(erasures.writes.end(erasure)).toBe(false);
  expect(erasures.reads.files({ ...second, limit: 2 })).toEqual(["file-later"]);
  expect(keys.reads.get({ id: "key_later" })?.revokedAt).toBe(6000);
});

test("an upload cannot be completed during its owner's erasure", () => {
  const tables = memoryTables();
  fill(tables, "gone");
  const { erasures, files, uploads } = tables;
  erasures.writes.begin(erasure);
  const file = fileRow("file-joined", { owner: "gone", createdAt: 5001 });
  const complete = () => uploads.writes.complete({ owner: "gone", id: "upload_gone", file, maxFiles: 1000 });
  expect(complete()).toBe("erased");
  erasures.writes.removeUploads(step);
  expect(complete()).toBe("not_pending");
  expect(files.reads.get({ owner: "gone", id: "file-joined" })).toBeNull();
});

test("during an erasure data is stored only for keys created after its request", () => {
  const { keys, erasures, files } = memoryTables();
  keys.writes.insert({ ...KEY_ROW, id: "key_before", prefix: "a", owner: "gone", createdAt: 4000 });
  const insert = (id: string, keyId: string) =>
    files.writes.insert({ row: fileRow(id, { owner: "gone" }), keyId, quotaBytes: null, maxFiles: 10 });
  expect(insert("file-1", "key_before")).toBe("inserted");
  erasures.writes.begin(erasure);
  keys.writes.insert({ ...KEY_ROW, id: "key_after", prefix: "b", owner: "gone", createdAt: 5001 });
  expect(insert("file-2", "key_before")).toBe("erased");
  expect(insert("file-3", "key_after")).toBe("inserted");
});
