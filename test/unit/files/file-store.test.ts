import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { FileMeta } from "../../../files/file-store.ts";
import { MAX_BATCH_BYTES, tooLarge } from "../../../files/purpose-rules.ts";
import { newBatch } from "../store/rows.ts";
import { freshFolder } from "../store/test-store.ts";
import { bytesOf, openFileStores } from "./files-rig.ts";

const META: FileMeta = { owner: "local", purpose: "batch", filename: "in.jsonl", expiresAfter: null };
const LIMIT = { bytes: 1000, error: () => tooLarge("file", 1000) };
const DAY = 86_400;

type FileStores = Awaited<ReturnType<typeof openFileStores>>;

async function addFile({ files }: FileStores, text: string, changed: Partial<FileMeta> = {}) {
  const incoming = await files.receive(changed.owner ?? "local", bytesOf(text), LIMIT);
  return files.add(incoming, { ...META, ...changed });
}

describe("a file", () => {
  test("is complete on disk under its id, with its hash, once its row exists", async () => {
    const stores = await openFileStores();
    const incoming = await stores.files.receive("local", bytesOf("one\n", "two\n"), LIMIT);
    const row = await stores.files.add(incoming, META);
    expect(row).toEqual({
      id: expect.stringMatching(/^file-[0-9A-Za-z]{24}$/),
      owner: "local",
      purpose: "batch",
      filename: "in.jsonl",
      bytes: 8,
      sha256: createHash("sha256").update("one\ntwo\n").digest("hex"),
      createdAt: stores.clock.seconds,
      expiresAt: stores.clock.seconds + 30 * DAY,
    });
    expect(readFileSync(stores.files.pathOf(row.id), "utf8")).toBe("one\ntwo\n");
    expect(readdirSync(stores.at("tmp"))).toEqual([]);
    expect(await stores.files.get("local", row.id)).toEqual(row);
    expect(await stores.files.check(row)).toBe(true);
  });

  test("has the lifetime that its owner sets, or its purpose's default", async () => {
    const stores = await openFileStores();
    const now = stores.clock.seconds;
    expect((await addFile(stores, "x", { expiresAfter: 3600 })).expiresAt).toBe(now + 3600);
    expect((await addFile(stores, "x", { purpose: "user_data" })).expiresAt).toBeNull();
  });

  test("of another owner is not found", async () => {
    const stores = await openFileStores();
    const { id } = await addFile(stores, "secret", { owner: "alice" });
    await expect(stores.files.get("mallory", id)).rejects.toMatchObject({ status: 404, param: "id" });
    await expect(stores.files.remove("mallory", id)).rejects.toMatchObject({ status: 404 });
    const query = { owner: "mallory", purpose: null, limit: 10, order: "desc" } as const;
    expect((await stores.files.list({ ...query, after: null })).rows).toEqual([]);
    await expect(stores.files.list({ ...query, after: id })).rejects.toMatchObject({ status: 400, param: "after" });
    expect(await stores.files.get("alice", id)).toBeTruthy();
  });

  test.each([
    "",
    "file-",
    "file-../../../../etc/passwd",
    `file-${"a".repeat(23)}`,
    `file-${"a".repeat(24)}\n`,
    "batch_x",
  ])("id %j is a 404 and never a path", async (id) => {
    const { files } = await openFileStores();
    await expect(files.get("local", id)).rejects.toMatchObject({ status: 404 });
    await expect(files.remove("local", id)).rejects.toMatchObject({ status: 404 });
    expect(() => files.pathOf(id)).toThrow();
  });

  test.each(["in.txt", "in.jsonl.gz", "jsonl", ""])("for a batch cannot be named %j", async (filename) => {
    const stores = await openFileStores();
    await expect(addFile(stores, "{}", { filename })).rejects.toMatchObject({ status: 400, param: "file" });
    expect(readdirSync(stores.at("tmp"))).toEqual([]);
    expect(readdirSync(stores.at("files"))).toEqual([]);
  });

  test("for a batch is at most 200 MB", async () => {
    const { files } = await openFileStores();
    const incoming = await files.receive("local", bytesOf("x"), LIMIT);
    const large = { ...incoming, bytes: MAX_BATCH_BYTES + 1 };
    await expect(files.add(large, META)).rejects.toMatchObject({ status: 413, code: "file_too_large" });
  });

  test("cannot be deleted while a batch reads it; later it is, from disk too", async () => {
    const stores = await openFileStores();
    const { files, store } = stores;
    const { id } = await addFile(stores, "{}");
    await store.batches.create({ batch: newBatch("batch_1", { inputFileId: id }), idempotency: null, maxOpen: null });
    await expect(files.remove("local", id)).rejects.toMatchObject({ status: 409, shouldRetry: false });
    expect(existsSync(files.pathOf(id))).toBe(true);
    await store.batches.fail({ id: "batch_1", now: 1, errors: "{}", model: null, events: [] });
    await files.remove("local", id);
    expect(existsSync(files.pathOf(id))).toBe(false);
    await expect(files.get("local", id)).rejects.toMatchObject({ status: 404 });
  });

  test("that changed on disk fails its check", async () => {
    const stores = await openFileStores();
    const row = await addFile(stores, "good");
    writeFileSync(stores.files.pathOf(row.id), "evil");
    expect(await stores.files.check(row)).toBe(false);
    rmSync(stores.files.pathOf(row.id));
    expect(await stores.files.check(row)).toBe(false);
  });
});

describe("a rejected file leaves nothing behind", () => {
  test("for a stream that breaks off", async () => {
    const { files, at } = await openFileStores();
    async function* broken() {
      yield Buffer.from("half");
      throw new Error("gone");
    }
    await expect(files.receive("local", broken(), LIMIT)).rejects.toThrow("gone");
    expect(readdirSync(at("tmp"))).toEqual([]);
  });

  test("one byte above the limit, without reading further", async () => {
    const { files, at } = await openFileStores();
    let asked = 0;
    async function* endless() {
      for (;;) {
        asked += 100;
        yield Buffer.alloc(100);
      }
    }
    await expect(files.receive("local", endless(), LIMIT)).rejects.toMatchObject({ status: 413 });
    expect(asked).toBe(1100);
    expect(readdirSync(at("tmp"))).toEqual([]);
  });

  test("without space beside the reserve, checked before and during the stream", async () => {
    let free = 1500;
    const { files, at } = await openFileStores({ diskReserve: 1000, freeBytes: async () => free });
    await files.admit("local", 500);
    await expect(files.admit("local", 501)).rejects.toMatchObject({
      status: 507,
      code: "insufficient_storage",
      type: "server_error",
      shouldRetry: false,
    });
    free = 999;
    await expect(files.receive("local", bytesOf("x"), LIMIT)).rejects.toMatchObject({ status: 507 });
    expect(readdirSync(at("tmp"))).toEqual([]);
    // The server's own results may use the reserve.
    await files.write(bytesOf("x"), { reserve: false });
    await expect(files.write(bytesOf("x"), { reserve: true })).rejects.toMatchObject({ status: 507 });
  });

  test("above its owner's quota, but not another owner's", async () => {
    const stores = await openFileStores({ storageQuota: 8196 });
    const { files, at } = stores;
    await addFile(stores, "123456");
    const refusal = { status: 507, code: "insufficient_storage", type: "insufficient_quota" };
    await expect(files.admit("local", 4101)).rejects.toMatchObject(refusal);
    await expect(
      files.receive("local", bytesOf("1".repeat(4000), "2".repeat(200)), { ...LIMIT, bytes: 1e6 }),
    ).rejects.toMatchObject(refusal);
    await addFile(stores, "1234567890", { owner: "other" });
    // Of two concurrent files that fit alone, one is accepted.
    const two = await Promise.all(["1234", "5678"].map((text) => files.receive("local", bytesOf(text), LIMIT)));
    const outcomes = await Promise.allSettled(two.map((incoming) => files.add(incoming, META)));
    expect(outcomes.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    expect(readdirSync(at("files"))).toHaveLength(3);
    expect(readdirSync(at("tmp"))).toEqual([]);
  });
});

describe("a list", () => {
  test.each(["asc", "desc"] as const)("(%s) continues after a deleted file for a day", async (order) => {
    const stores = await openFileStores();
    for (const text of ["a", "b", "c", "d", "e"]) await addFile(stores, text);
    const ids = (await stores.files.list({ owner: "local", purpose: null, limit: 9, after: null, order })).rows.map(
      ({ id }) => id,
    );
    const listed: string[] = [];
    for (let after: string | null = null, more = true; more; ) {
      const page = await stores.files.list({ owner: "local", purpose: null, limit: 2, after, order });
      for (const { id } of page.rows) {
        listed.push(id);
        await stores.files.remove("local", id);
      }
      after = page.rows.at(-1)?.id ?? null;
      more = page.hasMore;
    }
    expect(listed).toEqual(ids);
    const after = ids[0]!;
    const again = (owner: string) => stores.files.list({ owner, purpose: null, limit: 2, after, order });
    expect((await again("local")).rows).toEqual([]);
    await expect(again("other")).rejects.toMatchObject({ status: 400 });
    const now = Math.floor(Date.now() / 1000);
    await stores.files.forgetRemoved(now);
    expect((await again("local")).rows).toEqual([]);
    expect(await stores.files.forgetRemoved(now + 2 * DAY)).toBe(5);
    await expect(again("local")).rejects.toMatchObject({ status: 400 });
  });
});

describe("at the start", () => {
  test("tmp is emptied, and bytes without a row and rows without bytes are removed", async () => {
    const dataDir = freshFolder();
    const before = await openFileStores({ dataDir });
    const kept = await addFile(before, "kept");
    const lost = await addFile(before, "lost");
    await before.store.close();
    rmSync(before.files.pathOf(lost.id));
    const orphan = `file-${"0".repeat(24)}`;
    writeFileSync(before.at("files", orphan), "orphan");
    writeFileSync(before.at("tmp", "half"), "half");
    mkdirSync(before.at("tmp", "dir"));

    const { files, at, log } = await openFileStores({ dataDir });
    expect(readdirSync(at("tmp"))).toEqual([]);
    expect(readdirSync(at("files"))).toEqual([kept.id]);
    await expect(files.get("local", lost.id)).rejects.toMatchObject({ status: 404 });
    expect(log.lines).toMatchObject([
      { level: "error", fields: { id: lost.id } },
      { level: "warn", fields: { name: orphan } },
    ]);
  });

  test("rows are kept when the directory is missing, bytes when all rows are", async () => {
    const dataDir = freshFolder();
    const before = await openFileStores({ dataDir });
    const row = await addFile(before, "kept");
    await before.store.close();
    rmSync(before.at("files"), { recursive: true });
    const unmounted = await openFileStores({ dataDir });
    expect(await unmounted.files.get("local", row.id)).toEqual(row);
    expect(unmounted.log.messages).toEqual([expect.stringContaining("mounted")]);
    await unmounted.store.close();

    const other = freshFolder();
    mkdirSync(`${other}/files`);
    writeFileSync(`${other}/files/${row.id}`, "kept");
    const replaced = await openFileStores({ dataDir: other });
    expect(readdirSync(replaced.at("files"))).toEqual([row.id]);
    expect(replaced.log.messages).toEqual([expect.stringContaining("right database")]);
  });

  test("more files than one page of rows are all found", async () => {
    const dataDir = freshFolder();
    const before = await openFileStores({ dataDir });
    const names = Array.from({ length: 2300 }, (_, i) => `file-${String(i).padStart(24, "0")}`);
    await Promise.all(
      names.map((id) => {
        const row = { ...META, id, bytes: 1, sha256: "", createdAt: 1, expiresAt: null };
        const { expiresAfter: _, ...rest } = row;
        writeFileSync(before.at("files", id), "x");
        return before.store.files.insert({ row: rest, quotaBytes: null, maxFiles: 10_000 });
      }),
    );
    await before.store.close();
    const { at, log } = await openFileStores({ dataDir });
    expect(log.lines).toEqual([]);
    expect(readdirSync(at("files"))).toHaveLength(2300);
  });
});
