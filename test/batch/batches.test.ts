import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { APIError } from "openai";
import type { CreateEmbeddingResponse } from "openai/resources";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ask } from "../api/ask.ts";
import { startServer, type TestServer } from "../api/server.ts";
import { chatLine, ids, jsonl, reaches, results, submit } from "./batch-rig.ts";

let server: TestServer;
let dataDir: string;
beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), "nightshift-batches-"));
  server = await startServer("--data-dir", dataDir);
});
afterAll(async () => {
  await server.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

const QUESTIONS = Array.from({ length: 30 }, (_, i) => chatLine(`q${i}`, `What is ${i % 10} + ${i % 7}?`));

describe("batches through the SDK", () => {
  test("have the answers of the synchronous endpoint", async () => {
    const { client } = server;
    const made = await submit(client, jsonl(QUESTIONS), { metadata: { run: "first" } });
    expect(made).toMatchObject({ object: "batch", status: "validating", metadata: { run: "first" }, errors: null });
    expect(made.expires_at).toBe(made.created_at + 86_400);
    const batch = await reaches(client, made.id, "completed");
    expect(batch.request_counts).toEqual({ total: 30, completed: 30, failed: 0 });
    const { output } = await results(client, batch);
    expect(ids(output)).toEqual(ids(QUESTIONS));
    for (const { custom_id, response } of output.slice(0, 5)) {
      const content = QUESTIONS.find((line) => line.custom_id === custom_id)?.body.messages;
      const question = (content as { content: string }[])[0]!.content;
      expect(response?.body.choices[0]?.message.content).toBe(await ask(client, question, { max_tokens: 8 }));
      expect(response?.body).toMatchObject({ service_tier: "default", nightshift: { tier: "batch" } });
    }
    const file = await client.files.retrieve(batch.output_file_id!);
    expect(file).toMatchObject({ purpose: "batch_output", expires_at: null });
    await client.files.delete(batch.output_file_id!);
    await expect(client.files.content(batch.output_file_id!)).rejects.toMatchObject({ status: 404 });
  });

  test("of completions run, and their files expire at the requested time", async () => {
    const { client } = server;
    const line = (i: number) => ({
      custom_id: `c${i}`,
      method: "POST",
      url: "/v1/completions",
      body: { model: "demo", prompt: ["One, two,", "Red,"], max_tokens: 4 },
    });
    const made = await submit(client, jsonl([line(1), line(2)]), {
      endpoint: "/v1/completions",
      output_expires_after: { anchor: "created_at", seconds: 3600 },
    });
    const batch = await reaches(client, made.id, "completed");
    const file = await client.files.retrieve(batch.output_file_id!);
    expect(file.expires_at).toBe(file.created_at + 3600);
  });

  test("with invalid lines fail at validation, with each line's error", async () => {
    const { client } = server;
    const lines = [QUESTIONS[0], "{", { ...QUESTIONS[1], url: "/v1/completions" }, QUESTIONS[0]];
    const made = await submit(client, jsonl(lines));
    const batch = await reaches(client, made.id, "failed");
    expect(batch.errors?.data?.map(({ code, line }) => [code, line])).toEqual([
      ["invalid_json_line", 2],
      ["invalid_url", 3],
      ["duplicate_custom_id", 4],
    ]);
    expect(batch).toMatchObject({ output_file_id: null, error_file_id: null, in_progress_at: null });
  });

  test("are listed by page, and an unknown cursor is a 400", async () => {
    const { client } = server;
    const all: string[] = [];
    for await (const { id } of client.batches.list({ limit: 2 })) all.push(id);
    expect(all).toHaveLength(3);
    const error = await client.batches
      .list({ after: "batch_000000000000000000000000" })
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(APIError);
    expect(error).toMatchObject({ status: 400, param: "after" });
  });

  test("repeated with the same Idempotency-Key are created once", async () => {
    const { client } = server;
    const body = { input_file_id: "file-unknown", endpoint: "/v1/chat/completions", completion_window: "24h" } as const;
    const made = await Promise.all(
      Array.from({ length: 5 }, () => client.batches.create(body, { headers: { "Idempotency-Key": "once" } })),
    );
    expect(new Set(made.map(({ id }) => id)).size).toBe(1);
    const batch = await reaches(client, made[0]!.id, "failed");
    expect(batch.errors?.data).toMatchObject([{ code: "invalid_request", param: "file_id", line: null }]);
  });

  test("can be cancelled while they run, and keep finished lines", async () => {
    const { client } = server;
    const long = Array.from({ length: 400 }, (_, i) =>
      chatLine(`n${i}`, `Count from ${i} to 20.`, { max_tokens: 300, ignore_eos: true }),
    );
    const made = await submit(client, jsonl(long));
    await expect
      .poll(async () => (await client.batches.retrieve(made.id)).request_counts?.completed)
      .toBeGreaterThan(0);
    expect((await client.batches.cancel(made.id)).status).toBe("cancelling");
    const batch = await reaches(client, made.id, "cancelled");
    const { output, errors, all } = await results(client, batch);
    expect(ids(all)).toEqual(ids(long));
    expect(output).toHaveLength(batch.request_counts!.completed);
    expect(new Set(errors.map(({ error }) => error?.code))).toEqual(new Set(["batch_cancelled"]));
    await expect(client.batches.cancel(made.id)).resolves.toMatchObject({ status: "cancelled" });
  });

  test("are counted in the metrics", async () => {
    const metrics = await server.metrics();
    expect(metrics.sum("nightshift_batch_batches", { status: "completed" })).toBe(2);
    expect(metrics.sum("nightshift_batch_lines_total", { status: "done" })).toBeGreaterThan(30);
    expect(metrics.sum("nightshift_batch_backlog_lines")).toBe(0);
  });

  test("of embeddings have the synchronous endpoint's answers and are charged for input only", async () => {
    const { client } = server;
    const texts = ["One, two,", "Red,", "Once upon a time"];
    const lines = texts.map((input, i) => ({
      custom_id: `e${i}`,
      method: "POST",
      url: "/v1/embeddings",
      body: { model: "demo", input, encoding_format: "float" },
    }));
    const made = await submit(client, jsonl(lines), { endpoint: "/v1/embeddings" });
    const batch = await reaches(client, made.id, "completed");
    expect(batch.request_counts).toEqual({ total: 3, completed: 3, failed: 0 });
    const { data, usage } = await client.embeddings.create({ model: "demo", input: texts });
    expect(batch.usage).toMatchObject({ input_tokens: usage.prompt_tokens, output_tokens: 0 });
    const { output } = await results(client, batch);
    expect(ids(output)).toEqual(["e0", "e1", "e2"]);
    for (const { custom_id, response } of output) {
      expect(response?.body).toMatchObject({ object: "list", model: "demo", nightshift: { tier: "batch" } });
      // The rig's lines have the type of chat lines.
      const { embedding } = (response!.body as unknown as CreateEmbeddingResponse).data[0]!;
      const expected = data[Number(custom_id.slice(1))]!.embedding;
      expect(embedding.reduce((sum, value, i) => sum + value * expected[i]!, 0)).toBeCloseTo(1, 4);
    }
  });
});
