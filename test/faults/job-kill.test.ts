import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { user } from "../api/ask.ts";
import { occupied, poll, postChat } from "../batch/job-rig.ts";
import { KilledServers } from "./killed-servers.ts";

const FAILPOINTS = ["claim.after", "inference.after", "commit.after", "finalize.before-commit"];

const servers = new KilledServers(["batch.input", ...FAILPOINTS], ["--sequences", "1"], "Ready");

test("kill -9 before the 202 of a job leaves no job", async () => {
  const doomed = await servers.running();
  await occupied(doomed);
  await servers.arm("batch.input");
  const asked = postChat(doomed, { messages: [user("What is 7 + 8?")] }, "respond-async, wait=0");
  await expect(asked).rejects.toThrow();
  const server = await servers.next("batch.input");
  expect((await server.client.batches.list()).data).toEqual([]);
  expect((await server.client.files.list()).data).toEqual([]);
});

test.each(FAILPOINTS)("kill -9 of the server at %s: the job is answered and charged once", async (failpoint) => {
  const doomed = await servers.running();
  const charges = () => {
    const db = new Database(join(servers.dataDir, "nightshift.db"), { readonly: true });
    const rows = db.prepare("SELECT count(*) FROM ledger WHERE tier = 'batch'").pluck().get();
    db.close();
    return Number(rows);
  };
  const earlier = charges();
  const busy = await occupied(doomed);
  await servers.arm(failpoint);
  const response = await postChat(doomed, { messages: [user("What is 7 + 8?")] }, "respond-async, wait=0");
  expect(response.status).toBe(202);
  busy.leave();
  const server = await servers.next(failpoint);
  const answered = await poll(server, response.headers.get("location")!);
  expect(answered).toMatchObject({ status: 200, body: { choices: [{ message: { content: "15" } }] } });
  expect(charges() - earlier).toBe(1);
});
