import { readdirSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { toFile } from "openai";
import { expect, test } from "vitest";
import { TestServer } from "../api/server.ts";
import { until } from "../api/until.ts";
import { chatLine, freshDataDir, jsonl, reaches, submit } from "../batch/batch-rig.ts";

async function serve(dataDir: string, failpoint = ""): Promise<TestServer> {
  const server = new TestServer(["--data-dir", dataDir], { NIGHTSHIFT_FAILPOINTS: failpoint });
  await server.says("Ready");
  return server;
}

const OWNER = "/v1/nightshift/owners/local";

test.each(["erase.begun", "erase.batches", "erase.files"])(
  "kill -9 at %s: the next start carries the erasure through, and sums stay",
  async (failpoint) => {
    const dataDir = freshDataDir();
    const doomed = await serve(dataDir, failpoint);
    const batch = await submit(doomed.client, jsonl([chatLine("somebody", "What is 7 + 8?")]));
    expect((await reaches(doomed.client, batch.id)).status).toBe("completed");
    const upload = { filename: "somebody.jsonl", bytes: 4, mime_type: "application/jsonl", purpose: "batch" } as const;
    const { id } = await doomed.client.uploads.create(upload);
    await doomed.client.uploads.parts.create(id, { data: await toFile(Buffer.from("{}"), "part") });
    await fetch(doomed.origin + OWNER, { method: "DELETE" }).catch(() => {});
    expect(await doomed.exited).toMatchObject({ signal: "SIGKILL" });
    const server = await serve(dataDir);
    try {
      await until("the owner to be erased", async () => {
        const answer = await fetch(server.origin + OWNER);
        const { erasure } = (await answer.json()) as { erasure: object | null };
        return erasure === null;
      });
      expect((await server.client.batches.list()).data).toEqual([]);
      expect((await server.client.files.list()).data).toEqual([]);
      for (const folder of ["files", "parts"]) expect(readdirSync(join(dataDir, folder))).toEqual([]);
      const db = new Database(join(dataDir, "nightshift.db"), { readonly: true });
      const rows = (table: string) => db.prepare(`SELECT count(*) FROM ${table}`).pluck().get();
      for (const table of ["batches", "lines", "results", "files", "uploads", "upload_parts", "ledger", "erasures"])
        expect([table, rows(table)]).toEqual([table, 0]);
      expect([rows("usage_hours"), rows("spending")]).toEqual([1, 1]);
      db.close();
    } finally {
      await server.stop();
    }
  },
);
