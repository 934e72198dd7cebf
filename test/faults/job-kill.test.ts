import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { user } from "../api/ask.ts";
import { TestServer } from "../api/server.ts";
import { freshDataDir } from "../batch/batch-rig.ts";
import { occupied, poll, postChat } from "../batch/job-rig.ts";

async function serve(dataDir: string, failpoint = ""): Promise<TestServer> {
  const server = new TestServer(["--data-dir", dataDir, "--sequences", "1"], { NIGHTSHIFT_FAILPOINTS: failpoint });
  await server.says("Ready");
  return server;
}

test.each(["claim.after", "inference.after", "commit.after", "finalize.before-commit"])(
  "kill -9 of the server at %s: the job goes on, is answered and charged once",
  async (failpoint) => {
    const dataDir = freshDataDir();
    const doomed = await serve(dataDir, failpoint);
    const busy = await occupied(doomed);
    const response = await postChat(doomed, { messages: [user("What is 7 + 8?")] }, "respond-async, wait=0");
    expect(response.status).toBe(202);
    busy.leave();
    expect(await doomed.exited).toMatchObject({ signal: "SIGKILL" });
    const server = await serve(dataDir);
    try {
      const answered = await poll(server, response.headers.get("location")!);
      expect(answered).toMatchObject({ status: 200, body: { choices: [{ message: { content: "15" } }] } });
      const db = new Database(join(dataDir, "nightshift.db"), { readonly: true });
      expect(db.prepare("SELECT count(*) AS rows FROM ledger WHERE tier = 'batch'").get()).toEqual({ rows: 1 });
      db.close();
    } finally {
      await server.stop();
    }
  },
);

test("kill -9 before the job is made: it was never promised, and nothing runs", async () => {
  const dataDir = freshDataDir();
  const doomed = await serve(dataDir, "job.input");
  await occupied(doomed);
  const asked = postChat(doomed, { messages: [user("What is 7 + 8?")] }, "respond-async, wait=0");
  await expect(asked).rejects.toThrow();
  await doomed.exited;
  const server = await serve(dataDir);
  try {
    expect((await server.client.batches.list()).data).toEqual([]);
    const files = (await server.client.files.list()).data;
    expect(files.map(({ filename, expires_at }) => [filename, typeof expires_at])).toEqual([["job.jsonl", "number"]]);
  } finally {
    await server.stop();
  }
});
