import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, onTestFinished, test } from "vitest";
import { HeldSteps } from "../api/held-steps.ts";
import { runCli } from "../api/run-cli.ts";
import { TestServer } from "../api/server.ts";
import { until } from "../api/until.ts";
import { bytesOf, openFileStores } from "../unit/files/files-rig.ts";
import { chatLine, freshDataDir, ids, jsonl, reaches, results, submit } from "./batch-rig.ts";

async function serve(dataDir: string, env: Record<string, string> = {}): Promise<TestServer> {
  const server = new TestServer(["--data-dir", dataDir, "--sequences", "8"], env);
  onTestFinished(() => server.stop());
  await server.says("Ready");
  return server;
}

/** Lines of 20 tokens each: after MIDDLE steps with at most 8 sequences some lines have ended, most have not. */
const MIDDLE = 60;
const LINES = Array.from({ length: 80 }, (_, i) =>
  chatLine(`line-${i}`, `Count from ${i % 20} to 20.`, { max_tokens: 20, ignore_eos: true }),
);

/** Asserts that every line is in the batch's files once and charged once. */
async function expectWhole(server: TestServer, dataDir: string, id: string): Promise<void> {
  const batch = await reaches(server.client, id, "completed");
  expect(ids((await results(server.client, batch)).all)).toEqual(ids(LINES));
  const db = new Database(join(dataDir, "nightshift.db"), { readonly: true });
  const charged = db.prepare("SELECT count(*) AS rows, count(DISTINCT line) AS lines FROM ledger WHERE batch_id = ?");
  expect(charged.get(id)).toEqual({ rows: LINES.length, lines: LINES.length });
  db.close();
}

test("a batch restored from a backup resumes without lost or repeated lines", async () => {
  const [dataDir, restored] = [freshDataDir(), freshDataDir()];
  const backup = join(freshDataDir(), "backup");
  const steps = new HeldSteps();
  const server = await serve(dataDir, steps.env);
  const before = await submit(server.client, jsonl([chatLine("old", "What is 7 + 8?")]));
  const { output_file_id: outputId } = await reaches(server.client, before.id, "completed");
  steps.allow(MIDDLE);
  const { id } = await submit(server.client, jsonl(LINES));
  const completed = async () => (await server.client.batches.retrieve(id)).request_counts!.completed;
  await until("some lines to have ended", async () => (await completed()) > 0);

  expect(await runCli("backup", backup, "--data-dir", dataDir)).toMatchObject({ code: 0 });
  expect(await completed()).toBeLessThan(LINES.length);
  const refused = await runCli("restore", backup, "--data-dir", dataDir, "--force");
  expect(refused).toMatchObject({ code: 1, output: expect.stringMatching(/^error: Another Nightshift server uses/) });

  const restoring = await runCli("restore", backup, "--data-dir", restored);
  expect(restoring).toMatchObject({ code: 0, output: expect.stringMatching(/^Restored .* 3 files/) });
  const db = new Database(join(restored, "nightshift.db"), { readonly: true });
  const done = db.prepare("SELECT count(*) FROM lines WHERE batch_id = ? AND state = 'done'").pluck().get(id) as number;
  db.close();
  expect(done).toBeGreaterThan(0);
  expect(done).toBeLessThan(LINES.length);

  // Both resume on their own.
  steps.release();
  const second = await serve(restored);
  const old = await second.client.batches.retrieve(before.id);
  const [line] = (await results(second.client, old)).output;
  expect([old.output_file_id, line?.response?.body.choices[0]?.message.content]).toEqual([outputId, "15"]);
  await Promise.all([expectWhole(second, restored, id), expectWhole(server, dataDir, id)]);
  expect(existsSync(`${backup}.partial`)).toBe(false);
});

test("backup and restore list a damaged file, exit with 2 and restore the rest", async () => {
  const stores = await openFileStores({ dataDir: freshDataDir() });
  const add = async (text: string) =>
    stores.files.add(
      await stores.files.receive("local", bytesOf(text), { bytes: 99, error: () => new Error() as never }),
      {
        owner: "local",
        purpose: "user_data",
        filename: "a.txt",
        expiresAfter: null,
      },
    );
  const [damaged, kept] = [await add("damaged"), await add("kept")];
  writeFileSync(join(stores.dataDir, "files", damaged.id), "dAmaged");
  const [backup, restored] = [join(freshDataDir(), "backup"), freshDataDir()];

  const backingUp = await runCli("backup", backup, "--data-dir", stores.dataDir);
  expect(backingUp).toMatchObject({ code: 2, output: expect.stringContaining(`Error: damaged in ${stores.dataDir}`) });
  expect(backingUp.output).toContain(damaged.id);
  const restoring = await runCli("restore", backup, "--data-dir", restored);
  expect(restoring).toMatchObject({ code: 2, output: expect.stringContaining(damaged.id) });
  expect(readdirSync(join(restored, "files"))).toEqual([kept.id]);
});

test("SIGTERM makes running lines pending and uncharged; the next server ends each once", async () => {
  const dataDir = freshDataDir();
  const steps = new HeldSteps();
  const first = await serve(dataDir, steps.env);
  steps.allow(MIDDLE);
  const { id } = await submit(first.client, jsonl(LINES));
  const completed = async () => (await first.client.batches.retrieve(id)).request_counts!.completed;
  await until("some lines to have ended", async () => (await completed()) > 0);
  first.kill("SIGTERM");
  expect(await first.exited).toEqual({ code: 0, signal: null });
  const db = new Database(join(dataDir, "nightshift.db"), { readonly: true });
  const states = db.prepare("SELECT state, count(*) AS lines FROM lines WHERE batch_id = ? GROUP BY state").all(id) as {
    state: string;
    lines: number;
  }[];
  const charged = db.prepare("SELECT count(*) FROM ledger WHERE batch_id = ?").pluck().get(id);
  db.close();
  const counts = Object.fromEntries(states.map(({ state, lines }) => [state, lines]));
  expect(Object.keys(counts).sort()).toEqual(["done", "pending"]);
  expect(charged).toBe(counts.done);
  await expectWhole(await serve(dataDir), dataDir, id);
});
