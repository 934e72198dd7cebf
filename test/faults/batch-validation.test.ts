import { readdirSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { TestServer } from "../api/server.ts";
import { until } from "../api/until.ts";
import { chatLine, freshDataDir, jsonl, reaches, submit, uploadText } from "../batch/batch-rig.ts";

const FILE = jsonl([chatLine("a", "hi")]);

/** A line of nearly 10 MiB, the limit, that takes far more memory when parsed. */
function longLine(id: string, repeated: string): string {
  const more = repeated.repeat(Math.floor((10 * 1024 ** 2 - 1000) / repeated.length)).slice(0, -1);
  const head = `{"custom_id":"${id}","method":"POST","url":"/v1/chat/completions"`;
  return `${head},"body":{"model":"demo","max_tokens":2,"messages":[{"role":"user","content":"hi"}],"x":[${more}]}}`;
}

async function serve(dataDir: string, failpoints = ""): Promise<TestServer> {
  const server = new TestServer(["--data-dir", dataDir], { NIGHTSHIFT_FAILPOINTS: failpoints });
  await server.says("Listening; the models are loading");
  return server;
}

describe("a file that ends the process that validates it", () => {
  test("fails its batch after three attempts, and the server continues", async () => {
    const server = new TestServer([], { NIGHTSHIFT_FAILPOINTS: "validation.begun" });
    try {
      await server.says("Ready");
      const batch = await reaches(server.client, (await submit(server.client, FILE)).id, "failed");
      expect(batch.errors?.data).toMatchObject([{ code: "validation_failed" }]);
      expect((await server.post("/v1/completions", { model: "demo", prompt: "a", max_tokens: 1 })).status).toBe(200);
    } finally {
      await server.stop();
    }
  });

  test("fails its batch after three servers were killed while validating it", async () => {
    const dataDir = freshDataDir();
    for (let start = 0; start < 3; start++) {
      const doomed = await serve(dataDir, "validate.lines");
      if (start === 0) await submit(doomed.client, FILE).catch(() => {});
      expect(await doomed.exited).toMatchObject({ signal: "SIGKILL" });
    }
    const server = await serve(dataDir, "validate.lines");
    try {
      const { data } = await server.client.batches.list();
      const batch = await reaches(server.client, data[0]!.id, "failed");
      expect(batch.errors?.data).toMatchObject([{ code: "validation_failed" }]);
    } finally {
      await server.stop();
    }
  });
});

describe("one server", () => {
  let server: TestServer;
  beforeAll(async () => {
    server = new TestServer([]);
    await server.says("Listening; the models are loading");
  });
  afterAll(() => server.stop());

  test.each([
    ["one line of millions of objects", () => jsonl([longLine("a", '{"31":0},')])],
    [
      "long ids, and then such a line",
      () =>
        jsonl([
          ...Array.from({ length: 2000 }, (_, i) => chatLine(`${"字".repeat(500)}${i}`, "hi")),
          longLine("z", "{},"),
        ]),
    ],
  ])("refuses a file of %s at the line", async (_, file) => {
    const batch = await reaches(server.client, (await submit(server.client, file())).id, "failed");
    expect(batch.errors?.data).toMatchObject([{ code: "invalid_json_line" }]);
  });

  test("keeps its open files over many batches cancelled in validation", async () => {
    const { client } = server;
    const input_file_id = await uploadText(client, FILE);
    const openFiles = () => readdirSync(`/proc/${server.pid}/fd`).length;
    const pair = async () => {
      const body = { input_file_id, endpoint: "/v1/chat/completions", completion_window: "24h" } as const;
      const { id } = await client.batches.create(body);
      await client.batches.cancel(id).catch(() => {});
      return id;
    };
    await reaches(client, await pair());
    const before = openFiles();
    const ids: string[] = [];
    for (let i = 0; i < 60; i++) ids.push(await pair());
    for (const id of ids) await reaches(client, id);
    await until("open files to be as many as before", () => openFiles() <= before + 5);
  });
});
