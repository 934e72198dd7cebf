import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Store } from "../../../store/store.ts";
import { FREE, fileRow, newBatch, newLines } from "./rows.ts";
import { freshFolder, testStore } from "./test-store.ts";

const LINES = 200;
const SECRET = "the answer that must not be readable again";

/** A completed batch whose answers are still in the database. */
async function answered(store: Store): Promise<void> {
  await store.batches.create({ batch: newBatch("b"), idempotency: null, maxOpen: null });
  await store.lines.insert({ batchId: "b", lines: newLines(LINES) });
  await store.batches.begin({ id: "b", now: 1001, model: "demo" });
  const { lines: claims } = await store.claims.claim({ batchIds: ["b"], limit: LINES, nowMs: 0, terms: FREE });
  await Promise.all(
    claims.map(({ batchId, number, attempt }) => {
      // Some fill part of a page, some fill several.
      const body = JSON.stringify(SECRET.repeat(1 + (number % 7) * 40));
      const outcome = { state: "done" as const, kind: "output" as const, requestId: "req_1", statusCode: 200, body };
      return store.claims.commit({ claim: { batchId, number, attempt }, outcome, ledger: null });
    }),
  );
  await store.batches.beginFinalizing({ id: "b", now: 1002 });
  const outputFile = fileRow("file-out", { purpose: "batch_output" });
  await store.batches.finalize({ id: "b", status: "completed", now: 1003, outputFile, errorFile: null, events: [] });
}

function hasSecret(folder: string): string[] {
  const names = readdirSync(folder).filter((name) => statSync(join(folder, name)).isFile());
  return names.filter((name) => readFileSync(join(folder, name)).includes(SECRET));
}

test("deleting an output file leaves no trace of its answers in the database's files", async () => {
  const folder = freshFolder();
  const store = await testStore(folder);
  await answered(store);
  expect(hasSecret(folder)).not.toEqual([]);
  // The server continues; the batch's clean-up has not begun.
  expect(await store.files.remove({ owner: "local", id: "file-out" })).toBe("removed");
  await expect.poll(() => hasSecret(folder)).toEqual([]);
  await store.close();
  expect(hasSecret(folder)).toEqual([]);
});

test("a batch's clean-up leaves no trace of its answers and truncates the log at run time", async () => {
  const folder = freshFolder();
  const store = await testStore(folder);
  await answered(store);
  while ((await store.results.remove({ batchId: "b", limit: 30 })) > 0);
  while ((await store.lines.remove({ batchId: "b", limit: 30 })) > 0);
  const log = join(folder, "nightshift.db-wal");
  await expect.poll(() => existsSync(log) && statSync(log).size).toBe(0);
  expect(hasSecret(folder)).toEqual([]);
});

const LARGE = 600_000;

/** A batch in progress with results of LARGE bytes, and its output file. */
async function largeResults(store: Store, count: number): Promise<void> {
  await store.batches.create({ batch: newBatch("b"), idempotency: null, maxOpen: null });
  await store.lines.insert({ batchId: "b", lines: newLines(count) });
  await store.batches.begin({ id: "b", now: 1001, model: "demo" });
  const { lines: claims } = await store.claims.claim({ batchIds: ["b"], limit: count, nowMs: 0, terms: FREE });
  const outcome = { state: "done", kind: "output", requestId: "req_1", statusCode: 200 } as const;
  for (const { batchId, number, attempt } of claims) {
    const claim = { batchId, number, attempt };
    await store.claims.commit({ claim, outcome: { ...outcome, body: "x".repeat(LARGE) }, ledger: null });
  }
  await store.batches.beginFinalizing({ id: "b", now: 1002 });
  const outputFile = fileRow("file-out", { purpose: "batch_output" });
  await store.batches.finalize({ id: "b", status: "completed", now: 1003, outputFile, errorFile: null, events: [] });
}

const outputs = (store: Store) => store.results.count({ batchId: "b", kind: "output" });

test("one operation removes about one MiB of results, and at least one result", async () => {
  const store = await testStore();
  await largeResults(store, 4);
  expect(await store.results.remove({ batchId: "b", limit: 500 })).toBe(1);
  expect(await outputs(store)).toBe(3);
});

test("a deletion does not wait for its results' removal, nor do other writes", async () => {
  const store = await testStore();
  await largeResults(store, 20);
  await store.files.remove({ owner: "local", id: "file-out" });
  expect(await store.files.hasResults({ id: "file-out" })).toBe(false);
  await store.files.insert({ row: fileRow("file-next"), quotaBytes: null, maxFiles: 10_000 });
  expect(await outputs(store)).toBeGreaterThan(0);
  await expect.poll(() => outputs(store)).toBe(0);
});

test("a start resumes the removal of deleted files' results", async () => {
  const folder = freshFolder();
  const first = await testStore(folder);
  await largeResults(first, 20);
  await first.files.remove({ owner: "local", id: "file-out" });
  await first.close();
  const second = await testStore(folder);
  expect(await outputs(second)).toBeGreaterThan(0);
  await expect.poll(() => outputs(second)).toBe(0);
});
