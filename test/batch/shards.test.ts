import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runCli } from "../api/run-cli.ts";
import { TestServer } from "../api/server.ts";
import { chatLine, freshDataDir, jsonl } from "./batch-rig.ts";

let server: TestServer;
beforeAll(async () => {
  server = new TestServer(["--threads", "1"]);
  await server.says("Ready");
});
afterAll(() => server.stop());

// As in docs/data-pipelines.md.
test("a job of shards runs as batches beside each other, and again without computing a line twice", async () => {
  const folder = freshDataDir();
  const shards = ["part-0", "part-1", "part-2"];
  for (const shard of shards) {
    writeFileSync(
      join(folder, `${shard}.jsonl`),
      jsonl([chatLine(`${shard}/a`, "Hello!"), chatLine(`${shard}/b`, "Bye!")]),
    );
  }
  const run = (shard: string) => {
    const metadata = ["--metadata", "job=languages", "--metadata", `shard=${shard}`];
    const output = join(folder, `${shard}.results`);
    return runCli(
      "batch",
      "run",
      join(folder, `${shard}.jsonl`),
      "-o",
      output,
      "--url",
      `${server.origin}/v1`,
      ...metadata,
    );
  };
  const runAll = async () => (await Promise.all(shards.map(run))).map(({ code }) => code);

  expect(await runAll()).toEqual([0, 0, 0]);
  expect(await runAll()).toEqual([0, 0, 0]);
  const { data } = await server.client.batches.list();
  expect(data.map(({ metadata }) => [metadata?.job, metadata?.shard]).sort()).toEqual(
    shards.map((shard) => ["languages", shard]),
  );
  expect(data.map(({ request_counts: counts }) => counts?.completed)).toEqual([2, 2, 2]);
  const answered = shards.flatMap((shard) => {
    const lines = readFileSync(join(folder, `${shard}.results`), "utf8")
      .trim()
      .split("\n");
    return lines
      .map((line) => JSON.parse(line))
      .map(({ custom_id, response }) => {
        expect(response.body.choices[0].message.content).toBeTruthy();
        return custom_id;
      });
  });
  expect(answered.sort()).toEqual(shards.flatMap((shard) => [`${shard}/a`, `${shard}/b`]));
});
