import { readdirSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { toFile } from "openai";
import { expect, onTestFinished, test } from "vitest";
import { until } from "../api/until.ts";
import { chatLine, jsonl, reaches, submit } from "../batch/batch-rig.ts";
import { KilledServers } from "./killed-servers.ts";

const OWNER = "/v1/nightshift/owners/local";

const FAILPOINTS = ["erase.begun", "erase.batches", "erase.files"];

const servers = new KilledServers(FAILPOINTS, [], "Ready");

test.each(FAILPOINTS)("kill -9 at %s: the next start completes the erasure, and sums stay", async (failpoint) => {
  const doomed = await servers.running();
  const db = new Database(join(servers.dataDir, "nightshift.db"), { readonly: true });
  onTestFinished(() => void db.close());
  const count = (sql: string) => Number(db.prepare(sql).pluck().get());
  const requests = () => count("SELECT coalesce(sum(requests), 0) FROM usage_hours");
  const earlier = requests();
  const batch = await submit(doomed.client, jsonl([chatLine("somebody", "What is 7 + 8?")]));
  expect((await reaches(doomed.client, batch.id)).status).toBe("completed");
  const upload = { filename: "somebody.jsonl", bytes: 4, mime_type: "application/jsonl", purpose: "batch" } as const;
  const { id } = await doomed.client.uploads.create(upload);
  await doomed.client.uploads.parts.create(id, { data: await toFile(Buffer.from("{}"), "part") });
  await servers.arm(failpoint);
  await fetch(doomed.origin + OWNER, { method: "DELETE" }).catch(() => {});
  const server = await servers.next(failpoint);
  await until("the owner to be erased", async () => {
    const answer = await fetch(server.origin + OWNER);
    const { erasure } = (await answer.json()) as { erasure: object | null };
    return erasure === null;
  });
  expect((await server.client.batches.list()).data).toEqual([]);
  expect((await server.client.files.list()).data).toEqual([]);
  for (const folder of ["files", "parts"]) expect(readdirSync(join(servers.dataDir, folder))).toEqual([]);
  for (const table of ["batches", "lines", "results", "files", "uploads", "upload_parts", "ledger", "erasures"])
    expect([table, count(`SELECT count(*) FROM ${table}`)]).toEqual([table, 0]);
  expect(requests() - earlier).toBe(1);
  expect(count("SELECT count(*) FROM spending")).toBeGreaterThan(0);
});
