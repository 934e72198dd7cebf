import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { UploadParts } from "../../../files/upload-parts.ts";
import type { NewUpload } from "../../../files/upload-store.ts";
import { freshFolder } from "../store/test-store.ts";
import { bytesOf, openFileStores } from "./files-rig.ts";

const MiB = 1024 * 1024;
const UPLOAD: NewUpload = {
  owner: "local",
  filename: "in.jsonl",
  purpose: "batch",
  bytes: 9,
  mimeType: "application/jsonl",
  expiresAfter: null,
};

type FileStores = Awaited<ReturnType<typeof openFileStores>>;

async function addPart({ uploads }: FileStores, uploadId: string, text: string) {
  return uploads.addPart("local", uploadId, await uploads.receivePart("local", bytesOf(text)));
}

/** An upload of 9 bytes with its parts abc, def, ghi, received in another order. */
async function withParts(stores: FileStores, changed: Partial<NewUpload> = {}) {
  const upload = await stores.uploads.create({ ...UPLOAD, ...changed });
  const [ghi, abc, def] = await Promise.all(["ghi", "abc", "def"].map((text) => addPart(stores, upload.id, text)));
  return { id: upload.id, inOrder: [abc!.id, def!.id, ghi!.id] };
}

const md5 = (text: string) => createHash("md5").update(text).digest("hex");

describe("an upload", () => {
  test("becomes a file of its parts in the order of completion", async () => {
    const stores = await openFileStores();
    const { id, inOrder } = await withParts(stores, { expiresAfter: 7200 });
    const { upload, file } = await stores.uploads.complete("local", id, inOrder, md5("abcdefghi").toUpperCase());
    expect(upload).toMatchObject({ id, status: "completed", fileId: file.id });
    expect(file).toMatchObject({ filename: "in.jsonl", purpose: "batch", bytes: 9 });
    expect(file.expiresAt).toBe(stores.clock.seconds + 7200);
    expect(readFileSync(stores.files.pathOf(file.id), "utf8")).toBe("abcdefghi");
    expect(readdirSync(stores.at("parts"))).toEqual([]);
    expect(readdirSync(stores.at("tmp"))).toEqual([]);
  });

  test("beyond its owner's 1,000 open ones is rejected with 507 until one ends", async () => {
    const { uploads } = await openFileStores();
    const [first] = await Promise.all(Array.from({ length: 1000 }, () => uploads.create(UPLOAD)));
    const refusal = {
      status: 507,
      code: "insufficient_storage",
      message: expect.stringContaining("1000 open uploads"),
    };
    await expect(uploads.create(UPLOAD)).rejects.toMatchObject(refusal);
    await uploads.create({ ...UPLOAD, owner: "another" });
    await uploads.cancel("local", first!.id);
    await uploads.create(UPLOAD);
  });

  test("for a batch file of more than 200 MB is rejected by its declared bytes", async () => {
    const { uploads } = await openFileStores();
    const creating = uploads.create({ ...UPLOAD, bytes: 201 * MiB });
    await expect(creating).rejects.toMatchObject({ status: 413, code: "file_too_large", param: "bytes" });
  });

  test("is reconciled with the disk at a start, a few hundred parts at a time", async () => {
    const stores = await openFileStores();
    const { inOrder } = await withParts(stores);
    for (let n = 0; n < 1200; n++) writeFileSync(stores.at("parts", `part_${n}`), "");
    const { withoutPart } = stores.store.uploads;
    const asked: number[] = [];
    stores.store.uploads.withoutPart = (args) => {
      asked.push(args.ids.length);
      return withoutPart(args);
    };
    await UploadParts.open(stores);
    expect(readdirSync(stores.at("parts")).sort()).toEqual([...inOrder].sort());
    expect(asked).toEqual([500, 500, 203]);
  });

  test("of no bytes has no parts", async () => {
    const { uploads } = await openFileStores();
    const { id } = await uploads.create({ ...UPLOAD, bytes: 0 });
    expect((await uploads.complete("local", id, [], null)).file.bytes).toBe(0);
  });

  test("completed twice, also concurrently, is one file", async () => {
    const stores = await openFileStores();
    const { id, inOrder } = await withParts(stores);
    const both = await Promise.all([1, 2].map(() => stores.uploads.complete("local", id, inOrder, null)));
    const again = await stores.uploads.complete("local", id, inOrder, null);
    expect(new Set([...both, again].map(({ file }) => file.id)).size).toBe(1);
    expect(readdirSync(stores.at("files"))).toHaveLength(1);
  });

  test.each([
    ["a part is missing", (ids: string[]) => ids.slice(1), null, "part_ids"],
    ["a part is named twice", ([a, b]: string[]) => [a!, b!, a!], null, "part_ids[2]"],
    ["a part is unknown", ([a, b]: string[]) => [a!, b!, "part_x"], null, "part_ids[2]"],
    ["the order has another checksum", (ids: string[]) => ids.toReversed(), md5("abcdefghi"), "md5"],
  ])("stays pending when %s", async (_, ids, checksum, param) => {
    const stores = await openFileStores();
    const { id, inOrder } = await withParts(stores);
    const completion = stores.uploads.complete("local", id, ids(inOrder), checksum);
    await expect(completion).rejects.toMatchObject({ status: 400, param });
    expect(readdirSync(stores.at("files"))).toEqual([]);
    expect(readdirSync(stores.at("tmp"))).toEqual([]);
    const { file } = await stores.uploads.complete("local", id, inOrder, null);
    expect(file.bytes).toBe(9);
  });

  test("rejects another upload's part", async () => {
    const stores = await openFileStores();
    const [one, two] = [await withParts(stores), await withParts(stores)];
    const mixed = [...one.inOrder.slice(0, 2), two.inOrder[2]!];
    await expect(stores.uploads.complete("local", one.id, mixed, null)).rejects.toMatchObject({ status: 400 });
  });

  test("accepts no more bytes than it was created with", async () => {
    const stores = await openFileStores();
    const { id } = await withParts(stores);
    await expect(addPart(stores, id, "x")).rejects.toMatchObject({ status: 400, param: "data" });
    expect(readdirSync(stores.at("parts"))).toHaveLength(3);
  });

  test("accepts no part after it was cancelled, completed or expired", async () => {
    const stores = await openFileStores();
    const { uploads, clock, at } = stores;
    const cancelled = await withParts(stores);
    expect(await uploads.cancel("local", cancelled.id)).toMatchObject({ status: "cancelled" });
    expect(await uploads.cancel("local", cancelled.id)).toMatchObject({ status: "cancelled" });
    expect(readdirSync(at("parts"))).toEqual([]);
    const completed = await withParts(stores);
    await uploads.complete("local", completed.id, completed.inOrder, null);
    const late = await withParts(stores);
    clock.pass(3600);
    const refusal = { status: 400, code: "upload_not_pending" };
    for (const { id } of [cancelled, completed]) {
      await expect(addPart(stores, id, "x")).rejects.toMatchObject(refusal);
      await expect(uploads.admitPart("local", id, 1)).rejects.toMatchObject(refusal);
    }
    // Also before the sweeper has expired it.
    await expect(addPart(stores, late.id, "x")).rejects.toMatchObject(refusal);
    await expect(uploads.complete("local", late.id, late.inOrder, null)).rejects.toMatchObject(refusal);
    await expect(uploads.complete("local", cancelled.id, [], null)).rejects.toMatchObject(refusal);
    await expect(uploads.cancel("local", completed.id)).rejects.toMatchObject(refusal);
    expect(readdirSync(at("parts"))).toHaveLength(3);
  });

  test("cancelled while it completes is either cancelled or completed", async () => {
    const stores = await openFileStores();
    const { id, inOrder } = await withParts(stores);
    const completing = stores.uploads.complete("local", id, inOrder, null).then(
      () => "completed",
      () => "cancelled",
    );
    await stores.uploads.cancel("local", id).catch(() => {});
    const outcome = await completing;
    expect(await stores.uploads.get("local", id)).toMatchObject({ status: outcome });
    expect(readdirSync(stores.at("files"))).toHaveLength(outcome === "completed" ? 1 : 0);
    expect(readdirSync(stores.at("parts"))).toEqual([]);
    expect(readdirSync(stores.at("tmp"))).toEqual([]);
  });

  test("of another owner is not found", async () => {
    const stores = await openFileStores();
    const { id } = await withParts(stores);
    const part = await stores.uploads.receivePart("mallory", bytesOf("x"));
    const absent = { status: 404, param: "upload_id" };
    await expect(stores.uploads.admitPart("mallory", id, 1)).rejects.toMatchObject(absent);
    await expect(stores.uploads.addPart("mallory", id, part)).rejects.toMatchObject(absent);
    await expect(stores.uploads.complete("mallory", id, [], null)).rejects.toMatchObject(absent);
    await expect(stores.uploads.cancel("mallory", id)).rejects.toMatchObject(absent);
    await expect(stores.uploads.get("local", "upload_../../x")).rejects.toMatchObject(absent);
    expect(readdirSync(stores.at("tmp"))).toEqual([]);
  });

  test.each([
    [{ bytes: 8192 * MiB + 1, purpose: "user_data" }, 413],
    [{ bytes: 200 * MiB + 1 }, 413],
    [{ filename: "in.csv" }, 400],
  ] as const)("as %o is a %d", async (changed, status) => {
    const { uploads } = await openFileStores();
    await expect(uploads.create({ ...UPLOAD, ...changed })).rejects.toMatchObject({ status });
  });

  test("without space for all its bytes is rejected at creation", async () => {
    const { uploads } = await openFileStores({ diskReserve: 100, freeBytes: async () => 108 });
    await expect(uploads.create(UPLOAD)).rejects.toMatchObject({ status: 507 });
    const bounded = await openFileStores({ storageQuota: 8 });
    await expect(bounded.uploads.create(UPLOAD)).rejects.toMatchObject({ status: 507 });
  });

  test("counts with its parts for the quota", async () => {
    const stores = await openFileStores({ storageQuota: 4 * 4096 - 1 });
    const other = await stores.uploads.create({ ...UPLOAD, bytes: 4 });
    const { id, inOrder } = await withParts(stores);
    await expect(addPart(stores, other.id, "1234")).rejects.toMatchObject({ status: 507 });
    // Parts that become a file are not counted twice.
    await stores.uploads.complete("local", id, inOrder, null);
    await addPart(stores, other.id, "1234");
  });

  test("survives a restart with its parts; parts without a row are removed", async () => {
    const dataDir = freshFolder();
    const before = await openFileStores({ dataDir });
    const { id, inOrder } = await withParts(before);
    await before.store.close();
    writeFileSync(before.at("parts", `part_${"0".repeat(24)}`), "x");
    const after = await openFileStores({ dataDir });
    expect(readdirSync(after.at("parts")).sort()).toEqual([...inOrder].sort());
    const { file } = await after.uploads.complete("local", id, inOrder, null);
    expect(readFileSync(after.files.pathOf(file.id), "utf8")).toBe("abcdefghi");
  });
});
