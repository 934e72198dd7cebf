import { expect, test } from "vitest";
import { fileRow } from "./rows.ts";
import { freshFolder, testStore } from "./test-store.ts";

test("writes are there after the store is closed and reopened", async () => {
  const folder = freshFolder();
  const first = await testStore(folder);
  expect(await first.files.insert({ row: fileRow("file-1"), quotaBytes: null, maxFiles: 10_000 })).toBe("inserted");
  await first.close();
  const second = await testStore(folder);
  expect(await second.files.get({ owner: "local", id: "file-1" })).toEqual(fileRow("file-1"));
});

test("a write that breaks a constraint fails alone in its group", async () => {
  const store = await testStore();
  const inserted = ["a", "b", "a", "c"].map((id) =>
    store.files.insert({ row: fileRow(id), quotaBytes: null, maxFiles: 10_000 }),
  );
  const settled = await Promise.allSettled(inserted);
  expect(settled.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected", "fulfilled"]);
  await expect(inserted[2]).rejects.toMatchObject({ name: "StoreError", code: "constraint", retryable: false });
  const listed = await store.files.list({ owner: "local", purpose: null, limit: 10, after: null, order: "asc" });
  expect(listed).toMatchObject({ rows: [{ id: "a" }, { id: "b" }, { id: "c" }], hasMore: false });
});

test("a second store on the same data directory is refused while the first is open", async () => {
  const folder = freshFolder();
  const first = await testStore(folder);
  await expect(testStore(folder)).rejects.toMatchObject({ code: "locked" });
  await first.close();
  await testStore(folder);
});

test("after close every operation is rejected", async () => {
  const store = await testStore();
  await store.close();
  await expect(store.batches.open()).rejects.toMatchObject({ code: "closed" });
});
