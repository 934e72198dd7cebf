import { createHash, randomBytes } from "node:crypto";
import OpenAI, { toFile } from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { failure } from "./failure.ts";
import { startServer, type TestServer } from "./server.ts";

const DAY = 86_400;
const LINES = '{"custom_id":"a"}\n{"custom_id":"b"}\n';

let server: TestServer;
let client: OpenAI;
beforeAll(async () => {
  server = await startServer();
  client = server.client;
});
afterAll(() => server.stop());

const jsonl = (text: string | Uint8Array = LINES, name = "in.jsonl") => toFile(Buffer.from(text), name);
const upload = async (text: string | Uint8Array = LINES, name = "in.jsonl") =>
  client.files.create({ file: await jsonl(text, name), purpose: name.endsWith(".jsonl") ? "batch" : "user_data" });

describe("a file through the SDK", () => {
  test("is created with every field that clients know", async () => {
    const file = await upload();
    const now = Date.now() / 1000;
    expect(file).toEqual({
      id: expect.stringMatching(/^file-[A-Za-z0-9]{24}$/),
      object: "file",
      bytes: LINES.length,
      created_at: expect.any(Number),
      expires_at: file.created_at + 30 * DAY,
      filename: "in.jsonl",
      purpose: "batch",
      status: "processed",
      status_details: null,
    });
    expect(Math.abs(file.created_at - now)).toBeLessThan(10);
    expect(await client.files.retrieve(file.id)).toEqual(file);
    expect(await client.files.waitForProcessing(file.id)).toEqual(file);
  });

  test("returns the same bytes at any Accept-Encoding", async () => {
    const bytes = randomBytes(3_000_001);
    const { id } = await upload(bytes, "blob.bin");
    const content = await client.files.content(id);
    expect(content.headers.get("content-type")).toBe("application/octet-stream");
    expect(content.headers.get("content-length")).toBe("3000001");
    expect(sha256(await content.arrayBuffer())).toBe(sha256(bytes));
    const json = await fetch(`${server.origin}/v1/files/${id}/content`, { headers: { accept: "application/json" } });
    expect(sha256(await json.arrayBuffer())).toBe(sha256(bytes));
    const lines = await client.files.content((await upload()).id);
    expect(lines.headers.get("content-type")).toBe("application/jsonl");
    expect(await lines.text()).toBe(LINES);
  });

  test("expires as requested", async () => {
    const expires_after = { anchor: "created_at", seconds: 3600 } as const;
    const file = await client.files.create({ file: await jsonl(), purpose: "batch", expires_after });
    expect(file.expires_at).toBe(file.created_at + 3600);
    expect((await upload("x", "x.txt")).expires_at).toBeNull();
    for (const seconds of [3599, 2_592_001, 1.5]) {
      const error = await failure(
        client.files.create({
          file: await jsonl(),
          purpose: "batch",
          expires_after: { anchor: "created_at", seconds },
        }),
      );
      expect(error).toMatchObject({ status: 400, param: "expires_after.seconds" });
    }
  });

  test("can be deleted once", async () => {
    const { id } = await upload();
    expect(await client.files.delete(id)).toEqual({ id, object: "file", deleted: true });
    for (const call of [
      () => client.files.retrieve(id),
      () => client.files.content(id),
      () => client.files.delete(id),
    ]) {
      const error = await failure(call());
      expect(error).toBeInstanceOf(OpenAI.NotFoundError);
      expect(error).toMatchObject({ type: "invalid_request_error", param: "id" });
    }
  });

  test.each(["assistants", "batch", "fine-tune", "vision", "user_data", "evals"] as const)(
    "for %s",
    async (purpose) => {
      expect(await client.files.create({ file: await jsonl(), purpose })).toMatchObject({ purpose });
    },
  );

  test("may be empty", async () => {
    const { id } = await upload("");
    expect(await (await client.files.content(id)).text()).toBe("");
  });
});

describe("refused uploads", () => {
  test("a purpose that is reserved, unknown or missing", async () => {
    for (const purpose of ["batch_output", "nonsense", "", undefined]) {
      const error = await failure(client.files.create({ file: await jsonl(), purpose: purpose as "batch" }));
      expect(error).toMatchObject({ status: 400, param: "purpose" });
    }
  });

  test("a batch file without the ending .jsonl", async () => {
    const error = await failure(client.files.create({ file: await jsonl("{}", "in.csv"), purpose: "batch" }));
    expect(error).toMatchObject({ status: 400, param: "file" });
    expect(await upload("{}", "IN.JSONL")).toMatchObject({ filename: "IN.JSONL" });
  });
});

describe("a list", () => {
  test("pages through all files, in both orders, beside creations and deletions", async () => {
    const before = new Set((await client.files.list()).data.map(({ id }) => id));
    const made: string[] = [];
    for (let i = 0; i < 7; i++) made.push((await upload("{}", `${i}.jsonl`)).id);
    const seen: string[] = [];
    for await (const file of client.files.list({ limit: 2 })) {
      seen.push(file.id);
      if (seen.length === 2) await upload("{}", "new.jsonl");
    }
    expect(seen.filter((id) => !before.has(id))).toEqual(made.toReversed());
    const oldest: string[] = [];
    for await (const file of client.files.list({ limit: 3, order: "asc" })) oldest.push(file.id);
    expect(oldest.filter((id) => made.includes(id))).toEqual(made);
  });

  test("names its first and last id, and filters by purpose", async () => {
    const file = await client.files.create({ file: await jsonl(), purpose: "evals" });
    const response = await fetch(`${server.origin}/v1/files?purpose=evals&limit=1`);
    expect(await response.json()).toMatchObject({
      object: "list",
      data: [{ id: file.id }],
      first_id: file.id,
      last_id: file.id,
      has_more: true,
    });
    const none = await fetch(`${server.origin}/v1/files?purpose=nothing`);
    expect(await none.json()).toEqual({ object: "list", data: [], first_id: null, last_id: null, has_more: false });
  });

  test("refuses an unknown cursor, and limits out of range", async () => {
    for (const after of ["file-gone", "file-nonsense", "x'; DROP TABLE files; --"]) {
      expect(await failure(client.files.list({ after }))).toMatchObject({ status: 400, param: "after" });
    }
    for (const limit of [0, 10_001, -1, 1.5]) {
      expect(await failure(client.files.list({ limit }))).toMatchObject({ status: 400, param: "limit" });
    }
    expect((await client.files.list({ limit: 10_000 })).data.length).toBeGreaterThan(0);
  });
});

describe("a download", () => {
  test.each([
    ["bytes=0-4", 206, "01234", "bytes 0-4/10"],
    ["bytes=7-", 206, "789", "bytes 7-9/10"],
    ["bytes=-2", 206, "89", "bytes 8-9/10"],
    ["bytes=10-", 416, null, "bytes */10"],
    ["lines=1-2", 200, "0123456789", null],
  ])("of %s is a %d", async (range, status, text, contentRange) => {
    const { id } = await upload("0123456789", "digits.txt");
    const response = await fetch(`${server.origin}/v1/files/${id}/content`, { headers: { range } });
    expect(response.status).toBe(status);
    expect(response.headers.get("content-range")).toBe(contentRange);
    if (text === null) expect(await response.json()).toMatchObject({ error: { code: "range_not_satisfiable" } });
    else expect(await response.text()).toBe(text);
  });

  test("by HEAD has the headers only", async () => {
    const { id } = await upload("0123456789", "digits.txt");
    const response = await fetch(`${server.origin}/v1/files/${id}/content`, { method: "HEAD" });
    expect(response.headers.get("content-length")).toBe("10");
    expect(await response.text()).toBe("");
  });
});

function sha256(bytes: ArrayBuffer | Uint8Array): string {
  return createHash("sha256").update(new Uint8Array(bytes)).digest("hex");
}
