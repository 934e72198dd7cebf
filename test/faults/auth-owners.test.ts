import OpenAI, { toFile } from "openai";
import { expect, test } from "vitest";
import { until } from "../api/until.ts";
import { CHAT } from "../unit/server/test-server.ts";
import { ADMIN_KEY, startKeyedServer } from "./keys-rig.ts";

const LINE = `${JSON.stringify({ custom_id: "1", method: "POST", url: "/v1/chat/completions", body: CHAT })}\n`;
const BATCH = { endpoint: "/v1/chat/completions", completion_window: "24h" } as const;

test("resources of another owner are 404; a second key of their owner reads them", async () => {
  const server = await startKeyedServer();
  const [a, twin, b] = [await server.key(), await server.key(), await server.key({ owner: "b" })];
  const client = server.client(a.key);
  const file = await client.files.create({ file: await toFile(Buffer.from(LINE), "in.jsonl"), purpose: "batch" });
  const upload = await client.uploads.create({
    filename: "x",
    purpose: "user_data",
    bytes: 3,
    mime_type: "text/plain",
  });
  const batch = await client.batches.create({ ...BATCH, input_file_id: file.id });
  await until("the batch to end", async () => (await client.batches.retrieve(batch.id)).status === "completed");
  const output = (await client.batches.retrieve(batch.id)).output_file_id ?? "";

  const part = (other: OpenAI) => ({ uploadId: upload.id, data: Buffer.from("abc"), client: other });
  const calls: [string, (other: OpenAI) => Promise<unknown>][] = [
    ["a file", (other) => other.files.retrieve(file.id)],
    ["its content", (other) => other.files.content(file.id)],
    ["its deletion", (other) => other.files.delete(file.id)],
    ["the output", (other) => other.files.content(output)],
    ["a batch", (other) => other.batches.retrieve(batch.id)],
    ["its cancellation", (other) => other.batches.cancel(batch.id)],
    [
      "a part",
      async (other) => other.uploads.parts.create(part(other).uploadId, { data: await toFile(part(other).data) }),
    ],
    ["an upload's end", (other) => other.uploads.complete(upload.id, { part_ids: ["part_x"] })],
    ["an upload's cancellation", (other) => other.uploads.cancel(upload.id)],
    ["a job", (other) => other.get(`/nightshift/jobs/${batch.id.replace("batch_", "job_")}`)],
  ];
  for (const [what, call] of calls) {
    // An administrator is an owner like any other.
    for (const other of [b.key, ADMIN_KEY]) {
      const error: unknown = await call(server.client(other)).catch((thrown: unknown) => thrown);
      expect(error, what).toBeInstanceOf(OpenAI.NotFoundError);
    }
  }
  const absent = await server.call(b.key, "GET", `/v1/files/file-${"0".repeat(24)}`);
  const hidden = await server.call(b.key, "GET", `/v1/files/${file.id}`);
  expect((await hidden.text()).replaceAll(file.id, "")).toBe((await absent.text()).replace(/file-0+/g, ""));

  expect((await server.client(b.key).files.list()).data).toEqual([]);
  expect((await server.client(b.key).batches.list()).data).toEqual([]);
  expect((await server.call(b.key, "GET", `/v1/files?after=${file.id}`)).status).toBe(400);
  expect((await server.client(twin.key).files.list()).data.map(({ id }) => id)).toContain(file.id);
  expect(await server.client(twin.key).batches.retrieve(batch.id)).toMatchObject({ status: "completed" });
});

test("a batch over another owner's file fails as for an unknown one", async () => {
  const server = await startKeyedServer();
  const [a, b] = [server.client((await server.key()).key), server.client((await server.key({ owner: "b" })).key)];
  const file = await a.files.create({ file: await toFile(Buffer.from(LINE), "in.jsonl"), purpose: "batch" });
  const { id } = await b.batches.create({ ...BATCH, input_file_id: file.id });
  await until("the batch to fail", async () => (await b.batches.retrieve(id)).status === "failed");
  const { data } = (await b.batches.retrieve(id)).errors ?? {};
  expect(data).toMatchObject([{ code: "invalid_request", param: "file_id", line: null }]);
  expect(data?.[0]?.message).toBe(`The file '${file.id}' does not exist.`);
  expect(await a.files.delete(file.id)).toMatchObject({ deleted: true });
});

test("equal Idempotency-Keys of two owners make two batches", async () => {
  const server = await startKeyedServer();
  const headers = { "Idempotency-Key": "once" };
  const ids = [];
  for (const owner of ["a", "a", "b"]) {
    const client = server.client((await server.key({ owner })).key);
    ids.push((await client.batches.create({ ...BATCH, input_file_id: "file-x" }, { headers })).id);
  }
  expect(ids[1]).toBe(ids[0]);
  expect(ids[2]).not.toBe(ids[0]);
});
