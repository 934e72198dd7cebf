import { join } from "node:path";
import Database from "better-sqlite3";
import { describe, expect, test } from "vitest";
import { TestServer } from "../api/server.ts";
import { chatLine, freshDataDir, ids, jsonl, reaches, results, submit } from "../batch/batch-rig.ts";

const LINES = Array.from({ length: 40 }, (_, i) =>
  // Every tenth is one that its endpoint refuses when it runs: it fills the context.
  chatLine(`line-${i}`, i % 10 === 9 ? "What? ".repeat(4000) : `What is ${i % 20} + 3?`),
);

async function serve(dataDir: string, failpoint = ""): Promise<TestServer> {
  const server = new TestServer(["--data-dir", dataDir], { NIGHTSHIFT_FAILPOINTS: failpoint });
  await server.says("Listening; the models are loading");
  return server;
}

/** Submits to a server that may die before it answers; the batch is there all the same, or was never made. */
async function submitTo(server: TestServer): Promise<void> {
  await submit(server.client, jsonl(LINES)).catch(() => {});
}

async function onlyBatch(server: TestServer): Promise<string> {
  const { data } = await server.client.batches.list();
  expect(data).toHaveLength(1);
  return data[0]!.id;
}

/** Every line once, counts and charges that add up, nothing left over. */
async function expectConserved(server: TestServer, dataDir: string): Promise<void> {
  const id = await onlyBatch(server);
  const batch = await reaches(server.client, id, "completed");
  const { output, errors, all } = await results(server.client, batch);
  expect(ids(all)).toEqual(ids(LINES));
  expect(batch.request_counts).toEqual({ total: 40, completed: 36, failed: 4 });
  expect(output).toHaveLength(36);
  expect(errors.map(({ response }) => response?.status_code)).toEqual([400, 400, 400, 400]);
  const answered = output.reduce((sum, { response }) => sum + (response?.body.usage?.total_tokens ?? 0), 0);
  expect(batch.usage?.total_tokens).toBe(answered);
  const db = new Database(join(dataDir, "nightshift.db"), { readonly: true });
  const ledger = db.prepare("SELECT line, sum(input_tokens + output_tokens) AS tokens FROM ledger GROUP BY line").all();
  expect(ledger).toHaveLength(36);
  const rows = db.prepare("SELECT count(*) AS count FROM ledger WHERE batch_id = ?").get(id);
  expect(rows).toEqual({ count: 36 });
  const files = db.prepare("SELECT purpose, count(*) AS count FROM files GROUP BY purpose ORDER BY purpose").all();
  expect(files).toEqual([
    { purpose: "batch", count: 1 },
    { purpose: "batch_output", count: 2 },
  ]);
  db.close();
}

const FAILPOINTS = [
  "validate.lines",
  "validate.indexed",
  "claim.after",
  "inference.after",
  "commit.before",
  "commit.after",
  "commit.after:40",
  "finalize.begun",
  "finalize.written",
  "finalize.placed",
  "finalize.placed:2",
  "finalize.before-commit",
  "finalize.after-commit",
  "cleanup.half",
];

describe("kill -9 of the server", () => {
  test.each(FAILPOINTS)("at %s: each line once, one charge, files whole", async (failpoint) => {
    const dataDir = freshDataDir();
    const doomed = await serve(dataDir, failpoint);
    await submitTo(doomed);
    expect(await doomed.exited).toMatchObject({ signal: "SIGKILL" });
    const server = await serve(dataDir);
    try {
      await expectConserved(server, dataDir);
    } finally {
      await server.stop();
    }
  });

  test("again and again, at every point in turn, until one run is clean", async () => {
    const dataDir = freshDataDir();
    const first = await serve(dataDir, "claim.after");
    await submitTo(first);
    await first.exited;
    for (const failpoint of [
      "inference.after:3",
      "commit.before:5",
      "commit.after:9",
      "finalize.written",
      "finalize.placed:2",
    ]) {
      const server = await serve(dataDir, failpoint);
      expect(await server.exited).toMatchObject({ signal: "SIGKILL" });
    }
    const server = await serve(dataDir);
    try {
      await expectConserved(server, dataDir);
    } finally {
      await server.stop();
    }
  });
});
