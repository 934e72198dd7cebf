import { join } from "node:path";
import Database from "better-sqlite3";
import { describe, expect, test } from "vitest";
import { TestServer } from "../api/server.ts";
import { chatLine, freshDataDir, ids, jsonl, reaches, results, submit } from "../batch/batch-rig.ts";
import { KilledServers } from "./killed-servers.ts";

const LINES = Array.from({ length: 40 }, (_, i) =>
  // Every tenth line fails when it runs: its prompt fills the context.
  chatLine(`line-${i}`, i % 10 === 9 ? "What? ".repeat(4000) : `What is ${i % 20} + 3?`),
);

/** Submits to a server that may die before it answers; the batch exists then, or was never created. */
async function submitTo(server: TestServer): Promise<void> {
  await submit(server.client, jsonl(LINES)).catch(() => {});
}

/** Checks the newest of this many batches: every line once, consistent counts and charges, no leftovers. */
async function expectConserved(server: TestServer, dataDir: string, batches: number): Promise<void> {
  const { data } = await server.client.batches.list({ limit: 100 });
  expect(data).toHaveLength(batches);
  const { id } = data[0]!;
  const batch = await reaches(server.client, id, "completed");
  const { output, errors, all } = await results(server.client, batch);
  expect(ids(all)).toEqual(ids(LINES));
  expect(batch.request_counts).toEqual({ total: 40, completed: 36, failed: 4 });
  expect(output).toHaveLength(36);
  expect(errors.map(({ response }) => response?.status_code)).toEqual([400, 400, 400, 400]);
  const answered = output.reduce((sum, { response }) => sum + (response?.body.usage?.total_tokens ?? 0), 0);
  expect(batch.usage?.total_tokens).toBe(answered);
  const db = new Database(join(dataDir, "nightshift.db"), { readonly: true });
  const charged = db.prepare("SELECT count(*) AS rows, count(DISTINCT line) AS lines FROM ledger WHERE batch_id = ?");
  expect(charged.get(id)).toEqual({ rows: 36, lines: 36 });
  expect(db.prepare("SELECT count(*) FROM ledger").pluck().get()).toBe(36 * batches);
  const files = db.prepare("SELECT purpose, count(*) AS count FROM files GROUP BY purpose ORDER BY purpose").all();
  expect(files).toEqual([
    { purpose: "batch", count: batches },
    { purpose: "batch_output", count: 2 * batches },
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
  const servers = new KilledServers(FAILPOINTS, [], "Listening; the models are loading");

  test.each(FAILPOINTS)("at %s leaves each line once, one charge and complete files", async (failpoint) => {
    const doomed = await servers.running();
    const { data: earlier } = await doomed.client.batches.list({ limit: 100 });
    await servers.arm(failpoint);
    await submitTo(doomed);
    const server = await servers.next(failpoint);
    await expectConserved(server, servers.dataDir, earlier.length + 1);
  });

  test("repeatedly, at one point after another, leaves a clean run at last", async () => {
    const dataDir = freshDataDir();
    const serve = async (failpoint: string) => {
      const server = new TestServer(["--data-dir", dataDir], { NIGHTSHIFT_FAILPOINTS: failpoint });
      await server.says("Listening; the models are loading");
      return server;
    };
    const first = await serve("claim.after");
    await submitTo(first);
    await first.exited;
    for (const failpoint of [
      "inference.after:3",
      "commit.before:5",
      "commit.after:9",
      "finalize.written",
      "finalize.placed:2",
    ]) {
      const server = await serve(failpoint);
      expect(await server.exited).toMatchObject({ signal: "SIGKILL" });
    }
    const server = await serve("");
    try {
      await expectConserved(server, dataDir, 1);
    } finally {
      await server.stop();
    }
  });
});
