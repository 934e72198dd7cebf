import { expect, it } from "vitest";
import { Jobs, type JobsDeps } from "../../../../batch/api/jobs.ts";
import { ApiError } from "../../../../openapi/api-error.ts";
import { type Batch, COMPLETION_WINDOW } from "../../../../openapi/resources/batches.ts";
import { countingTurns } from "../../platform/counting-turns.ts";
import { startTestServer } from "../../server/test-server.ts";

it("is no batch of several lines, also with the metadata of a job", async () => {
  const server = await startTestServer();
  const line = (id: string) =>
    JSON.stringify({ custom_id: id, method: "POST", url: "/v1/embeddings", body: { model: "demo", input: id } });
  const form = new FormData();
  form.set("purpose", "batch");
  form.set("file", new Blob([`${line("a")}\n${line("b")}\n`]), "two.jsonl");
  const input = await fetch(`${server.url}/v1/files`, { method: "POST", body: form });
  const { id: input_file_id }: { id?: string } = Object(await input.json());
  const request = {
    input_file_id,
    endpoint: "/v1/embeddings",
    completion_window: COMPLETION_WINDOW,
    metadata: { nightshift_job: "1" },
  };
  const created = await server.post("/v1/batches", request);
  const { id }: { id?: string } = Object(await created.json());
  const job = `${server.url}/v1/nightshift/jobs/${id?.replace("batch_", "job_")}`;
  await expect.poll(async () => (await fetch(job)).status).toBe(404);
  await server.close();
});

const ENDED = {
  id: "batch_a",
  status: "completed",
  metadata: { nightshift_job: "1" },
  request_counts: { total: 1, completed: 1, failed: 0 },
  output_file_id: "file-out",
  error_file_id: null,
  input_file_id: "file-in",
  nightshift: { phase: "ended", reason: "", eta: null },
} as unknown as Batch;

function jobsOver(files: Partial<JobsDeps["files"]>): Jobs {
  const batches = { get: async () => ENDED } as unknown as JobsDeps["batches"];
  return new Jobs({ batches, files: files as JobsDeps["files"], maxLineBytes: 1000 });
}

it("whose answer is deleted between reads of row and bytes is a 410", async () => {
  const rows = [{ id: "file-out" }];
  const get = async () => {
    const row = rows.shift();
    if (row === undefined) throw new ApiError("not_found", "refused");
    return row as never;
  };
  const jobs = jobsOver({ get, pathOf: () => "/nowhere/file-out" });
  await expect(jobs.get("local", "job_a")).rejects.toMatchObject({ status: 410, code: "job_deleted" });
});

it("with a large body is written, hashed and stored in parts, each in a turn of the event loop", async () => {
  const body = {
    messages: Array.from({ length: 4000 }, (_, i) => ({ role: "user", content: `${i} ${"x".repeat(500)}` })),
  };
  const parts: Uint8Array[] = [];
  const files = {
    write: async (source: AsyncIterable<Uint8Array>) => {
      for await (const part of source) parts.push(part);
      return {} as never;
    },
    stage: async () => ({ id: "file-in" }) as never,
    quota: () => null,
  };
  const batches = { create: async () => ENDED } as unknown as JobsDeps["batches"];
  const jobs = new Jobs({ batches, files: files as unknown as JobsDeps["files"], maxLineBytes: 10 * 1024 * 1024 });
  const caller = { owner: "local", key: null } as unknown as Parameters<Jobs["create"]>[0];
  const loop = countingTurns();
  await jobs.create(caller, "/v1/chat/completions", body);
  loop.end();
  const line = { custom_id: "job", method: "POST", url: "/v1/chat/completions", body };
  expect(String(Buffer.concat(parts))).toBe(`${JSON.stringify(line)}\n`);
  expect(Math.max(...parts.map(({ byteLength }) => byteLength))).toBeLessThanOrEqual(256 * 1024);
  expect(loop.turns).toBeGreaterThan(JSON.stringify(line).length / (64 * 1024) - 2);
});

it("is deleted while another batch reads its request file, which stays", async () => {
  const removed: string[] = [];
  const remove = async (_owner: string, id: string) => {
    if (id === "file-in") throw new ApiError("file_in_use", "refused");
    removed.push(id);
  };
  expect(await jobsOver({ remove }).remove("local", "job_a")).toMatchObject({ id: "job_a", status: "deleted" });
  expect(removed).toEqual(["file-out"]);
});
