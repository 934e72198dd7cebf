import { readdirSync } from "node:fs";
import { join } from "node:path";
import { toFile } from "openai";
import { expect, test } from "vitest";
import { TestServer } from "../api/server.ts";
import { freshDataDir } from "../batch/batch-rig.ts";

async function serve(dataDir: string, failpoint = ""): Promise<TestServer> {
  const server = new TestServer(["--data-dir", dataDir], { NIGHTSHIFT_FAILPOINTS: failpoint });
  await server.says("Ready");
  return server;
}

test("after kill -9 between row and bytes of a removed file, the start removes the bytes", async () => {
  const dataDir = freshDataDir();
  const doomed = await serve(dataDir, "file.unlink");
  const file = await doomed.client.files.create({
    file: await toFile(Buffer.from("{}\n"), "a.jsonl"),
    purpose: "batch",
  });
  await doomed.client.files.delete(file.id).catch(() => {});
  expect(await doomed.exited).toMatchObject({ signal: "SIGKILL" });
  expect(readdirSync(join(dataDir, "files"))).toEqual([file.id]);
  const server = await serve(dataDir);
  try {
    expect((await server.client.files.list()).data).toEqual([]);
    expect(readdirSync(join(dataDir, "files"))).toEqual([]);
  } finally {
    await server.stop();
  }
});
