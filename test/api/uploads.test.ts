import { createHash, randomBytes } from "node:crypto";
import OpenAI, { toFile } from "openai";
import { afterAll, beforeAll, expect, test } from "vitest";
import { failure } from "./failure.ts";
import { startServer, type TestServer } from "./server.ts";

let server: TestServer;
let client: OpenAI;
beforeAll(async () => {
  server = await startServer();
  client = server.client;
});
afterAll(() => server.stop());

const MB = 1_000_000;
const UPLOAD = { filename: "in.jsonl", purpose: "batch", mime_type: "application/jsonl" } as const;

const addPart = async (id: string, bytes: Uint8Array) =>
  client.uploads.parts.create(id, { data: await toFile(bytes, "blob") });

test("concurrent parts become one file, in the order of completion", async () => {
  const bytes = randomBytes(10 * MB);
  const slices = Array.from({ length: 10 }, (_, i) => bytes.subarray(i * MB, (i + 1) * MB));
  const upload = await client.uploads.create({ ...UPLOAD, bytes: bytes.length });
  expect(upload).toEqual({
    id: expect.stringMatching(/^upload_[A-Za-z0-9]{24}$/),
    object: "upload",
    bytes: bytes.length,
    created_at: expect.any(Number),
    expires_at: upload.created_at + 3600,
    filename: "in.jsonl",
    purpose: "batch",
    status: "pending",
    file: null,
  });
  const parts = await Promise.all(slices.map((slice) => addPart(upload.id, slice)));
  expect(parts[0]).toEqual({
    id: expect.stringMatching(/^part_[A-Za-z0-9]{24}$/),
    object: "upload.part",
    created_at: expect.any(Number),
    upload_id: upload.id,
  });
  const part_ids = parts.map(({ id }) => id);
  const md5 = createHash("md5").update(bytes).digest("hex");
  const completed = await client.uploads.complete(upload.id, { part_ids, md5 });
  expect(completed).toMatchObject({ id: upload.id, status: "completed" });
  const { file } = completed;
  expect(file).toEqual(await client.files.retrieve(file!.id));
  expect(file).toMatchObject({ filename: "in.jsonl", purpose: "batch", bytes: bytes.length });
  const content = Buffer.from(await (await client.files.content(file!.id)).arrayBuffer());
  expect(content.equals(bytes)).toBe(true);
  // A retry after a lost response.
  expect(await client.uploads.complete(upload.id, { part_ids, md5 })).toEqual(completed);
});

test("a wrong byte count or checksum is a 400, and the upload can still be completed", async () => {
  const upload = await client.uploads.create({ ...UPLOAD, bytes: 4 });
  const one = await addPart(upload.id, Buffer.from("ab"));
  const short = await failure(client.uploads.complete(upload.id, { part_ids: [one.id] }));
  expect(short).toMatchObject({ status: 400, param: "part_ids" });
  const two = await addPart(upload.id, Buffer.from("cd"));
  const part_ids = [two.id, one.id];
  const md5 = createHash("md5").update("abcd").digest("hex");
  expect(await failure(client.uploads.complete(upload.id, { part_ids, md5 }))).toMatchObject({
    status: 400,
    param: "md5",
  });
  expect(await failure(client.uploads.complete(upload.id, { part_ids, md5: "x" }))).toMatchObject({ param: "md5" });
  const { file } = await client.uploads.complete(upload.id, { part_ids });
  expect(await (await client.files.content(file!.id)).text()).toBe("cdab");
});

test("a cancelled upload refuses parts and completion", async () => {
  const upload = await client.uploads.create({ ...UPLOAD, bytes: 2 });
  const part = await addPart(upload.id, Buffer.from("ab"));
  expect(await client.uploads.cancel(upload.id)).toMatchObject({ id: upload.id, status: "cancelled" });
  for (const call of [
    () => addPart(upload.id, Buffer.from("ab")),
    () => client.uploads.complete(upload.id, { part_ids: [part.id] }),
  ]) {
    expect(await failure(call())).toMatchObject({ status: 400, code: "upload_not_pending" });
  }
});

test("an unknown upload is a 404 before the part is read", async () => {
  for (const id of ["upload_nothing", `upload_${"a".repeat(24)}`]) {
    for (const call of [
      () => addPart(id, Buffer.from("x")),
      () => client.uploads.complete(id, { part_ids: [] }),
      () => client.uploads.cancel(id),
    ]) {
      expect(await failure(call())).toBeInstanceOf(OpenAI.NotFoundError);
    }
  }
});

test.each([
  [{ bytes: -1 }, 400, "bytes"],
  [{ bytes: 8 * 2 ** 30 + 1, purpose: "user_data" }, 413, "bytes"],
  [{ bytes: 201 * 2 ** 20 }, 413, "bytes"],
  [{ filename: "in.txt" }, 400, "file"],
  [{ purpose: "batch_output" }, 400, "purpose"],
  [{ mime_type: undefined }, 400, "mime_type"],
  [{ mime_type: "text/plain\r\nSet-Cookie: a=b" }, 400, "mime_type"],
  [{ filename: "x\r\nSet-Cookie: a=b.jsonl" }, 400, "filename"],
  [{ expires_after: { anchor: "created_at", seconds: 1 } }, 400, "expires_after.seconds"],
] as [Partial<OpenAI.UploadCreateParams>, number, string][])("%o is a %d", async (changed, status, param) => {
  const error = await failure(client.uploads.create({ ...UPLOAD, bytes: 10, ...changed }));
  expect(error).toMatchObject({ status, param });
});
