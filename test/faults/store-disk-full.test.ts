import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { Store } from "../../store/store.ts";
import { ledgerRow, newBatch } from "../unit/store/rows.ts";
import { openTestStore } from "../unit/store/test-store.ts";
import { mountSmallDisk } from "./small-disk.ts";

test("a full disk fails complete writes, leaves reads, and recovers with free space", async ({ skip }) => {
  const disk = mountSmallDisk(4 * 1024 * 1024);
  if (disk === null) return skip("mounting a small file system needs root");
  onTestFinished(() => disk.unmount());
  const ballast = join(disk.path, "ballast");
  const store = await openTestStore(disk.path);
  onTestFinished(() => store.close());
  await store.batches.create({ batch: newBatch("before"), idempotency: null, maxOpen: null });

  const notWritable = stateChange(store);
  fill(ballast);
  const { written, failure } = await insertUntilRefused(store);
  expect(failure).toMatchObject({ name: "StoreError", code: "full", retryable: true });
  expect(await notWritable).toMatchObject({ writable: false, code: "full" });
  expect(await store.batches.find({ id: "before" })).toMatchObject({ status: "validating" });
  expect(await countRows(store)).toBe(written);

  const writable = stateChange(store);
  rmSync(ballast);
  expect(await writable).toEqual({ writable: true });
  await store.ledger.insert({ rows: [ledgerRow()] });
  expect(await countRows(store)).toBe(written + 1);
});

function stateChange(store: Store): Promise<Store["state"]> {
  return new Promise((resolve) => store.onState(resolve));
}

function fill(path: string): void {
  for (let size = 4 * 1024 * 1024; size >= 4096; size /= 2) {
    try {
      writeFileSync(path, Buffer.alloc(size), { flag: "a" });
    } catch {
      // No space for all of it; half of it may fit.
    }
  }
}

/** Some pages of earlier writes may be left in the log's file. */
async function insertUntilRefused(store: Store): Promise<{ written: number; failure: unknown }> {
  const rows = Array.from({ length: 200 }, () => ledgerRow());
  for (let written = 0; written < 1_000_000; written += rows.length) {
    try {
      await store.ledger.insert({ rows });
    } catch (failure) {
      return { written, failure };
    }
  }
  throw new Error("The disk never got full");
}

async function countRows(store: Store): Promise<number> {
  const all = { owner: false, keyId: false, endpoint: false, model: false, batch: false, tier: false };
  const query = { start: 0, end: 1e10, width: 86_400, kind: null, groupBy: all, limit: 10 };
  const [sum] = await store.usage.sums({ ...query, owners: null, keyIds: null, models: null, batch: null });
  return sum?.requests ?? 0;
}
