import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { until } from "../api/until.ts";
import { KilledServers } from "./killed-servers.ts";

const FAILPOINTS = ["claim.after", "response.answered", "commit.before", "finalize.before-commit"];

const servers = new KilledServers(["batch.input", ...FAILPOINTS], [], "Ready");
const ASKED = { model: "demo", temperature: 0, background: true, input: "What is 7 + 8?" };

function inStore<Result>(read: (db: Database.Database) => Result): Result {
  const db = new Database(join(servers.dataDir, "nightshift.db"), { readonly: true });
  try {
    return read(db);
  } finally {
    db.close();
  }
}

test("kill -9 before the answer to a background request leaves no response", async () => {
  const doomed = await servers.running();
  await servers.arm("batch.input");
  await expect(doomed.client.responses.create(ASKED)).rejects.toThrow();
  const server = await servers.next("batch.input");
  expect((await server.client.batches.list()).data).toEqual([]);
  expect(inStore((db) => db.prepare("SELECT count(*) FROM responses").pluck().get())).toBe(0);
});

test.each(FAILPOINTS)("kill -9 of the server at %s: the response completes and is charged once", async (failpoint) => {
  const charges = () => inStore((db) => Number(db.prepare("SELECT count(*) FROM ledger").pluck().get()));
  const doomed = await servers.running();
  const earlier = charges();
  await servers.arm(failpoint);
  const { id } = await doomed.client.responses.create(ASKED);
  const server = await servers.next(failpoint);
  const batch = id.replace("resp_", "batch_");
  await until("its batch to end", async () => (await server.client.batches.retrieve(batch)).status === "completed");
  const response = await server.client.responses.retrieve(id);
  expect(response).toMatchObject({ status: "completed", output_text: "15" });
  expect(response.output).toHaveLength(1);
  expect(charges() - earlier).toBe(1);
});
