import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { APIError } from "openai";
import { expect, onTestFinished, test } from "vitest";
import { modelDownload, modelFileDeleted } from "../../openapi/resources/model-files.ts";
import { chatLine, freshDataDir, jsonl, reaches, results, submit } from "../batch/batch-rig.ts";
import { freshFolder } from "../unit/server/models/source/downloading.ts";
import { FakeHub } from "../unit/server/models/source/fake-hub.ts";
import { complete } from "./ask.ts";
import { DEMO_MODEL, readied, TestServer } from "./server.ts";
import { until } from "./until.ts";

/** A server with these files of the demo model in its folder, loaded on demand. */
async function rig(names: readonly string[], env: Record<string, string> = {}, args: readonly string[] = []) {
  const folder = freshFolder();
  const put = (name: string) => {
    mkdirSync(join(folder, name, ".."), { recursive: true });
    copyFileSync(DEMO_MODEL, join(folder, name));
  };
  for (const name of names) put(name);
  const own = ["--models-dir", folder, "--serve-models-dir", "on", "--keep-alive", "2s"];
  const start = (...more: string[]) => {
    const started = new TestServer([...own, "--threads", "1", "--sequences", "4", ...more], env);
    onTestFinished(() => started.stop());
    return started;
  };
  const server = start(...args);
  writeFileSync(join(folder, "broken.gguf"), "no model");
  await readied(server);
  const listed = async () => (await server.client.models.list()).data.map(({ id }) => id);
  return { folder, put, start, server, listed };
}

const ANSWER = "The capital of Greece is Athens.";

async function ask(server: TestServer, model: string): Promise<string | null> {
  const answer = await complete(server.client, "Capital of Greece?", { model });
  expect(answer.model).toBe(model);
  return answer.choices[0]!.message.content;
}

test("files of the folder are listed and served on demand, and new ones are found", async () => {
  const { folder, put, server, listed } = await rig(["first.gguf", "o/r/second.gguf", "mmproj-first.gguf"]);
  await until("both models", async () => (await listed()).length === 3);
  expect(await listed()).toEqual(["demo", "first", "o/r/second"]);
  const [, found] = (await server.client.models.list()).data;
  expect(found).toMatchObject({ id: "first", nightshift: { state: "unloaded" } });
  expect(server.logged("A file in the folder of models is not served")).toMatchObject([
    { file: join(folder, "broken.gguf") },
  ]);
  expect(await ask(server, "o/r/second")).toBe(ANSWER);
  await until("the idle model to leave", () => server.enginePids.length === 0);

  const lines = [chatLine("a", "Capital of Greece?", { model: "first", max_tokens: 16 })];
  const batch = await reaches(server.client, (await submit(server.client, jsonl(lines))).id, "completed");
  const { output } = await results(server.client, batch);
  expect(JSON.stringify(output[0])).toContain(ANSWER);

  put("later.gguf");
  // A scan follows the last one after five seconds.
  await until("the new model", async () => (await ask(server, "later").catch(() => null)) === ANSWER);
  put("signalled.gguf");
  server.kill("SIGHUP");
  await until("the model after SIGHUP", async () => (await listed()).includes("signalled"));
  const metrics = await server.metrics();
  expect(metrics.sum("nightshift_engine_state", { model: "signalled", status: "unloaded" })).toBe(1);
  await expect(ask(server, "nosuch")).rejects.toMatchObject({ status: 404, code: "model_not_found" });
});

test("a batch for a model of the folder goes on after a restart", async () => {
  const data = ["--data-dir", freshDataDir()];
  const { start, server, listed } = await rig(["first.gguf"], {}, [...data, "--shift", "off"]);
  await until("the model", async () => (await listed()).includes("first"));
  const lines = [chatLine("a", "Capital of Greece?", { model: "first", max_tokens: 16 })];
  const { id } = await submit(server.client, jsonl(lines));
  await reaches(server.client, id, "in_progress");
  await server.stop();
  const next = await readied(start(...data));
  const { output } = await results(next.client, await reaches(next.client, id, "completed"));
  expect(JSON.stringify(output[0])).toContain(ANSWER);
});

test("a downloaded model is served at once, and its file can be deleted when it is not in memory", async () => {
  const hub = await FakeHub.start();
  hub.files.set("/o/m/resolve/main/pulled.gguf", readFileSync(DEMO_MODEL));
  const { server, listed } = await rig([], { HF_ENDPOINT: hub.endpoint });
  const { client } = server;
  const pulled = await client.post("/nightshift/downloads", { body: { source: "hf:o/m/pulled.gguf" } });
  const { id } = modelDownload.parse(pulled);
  await until("the pulled model", async () => (await listed()).includes("pulled"));
  expect(modelDownload.parse(await client.get(`/nightshift/downloads/${id}`)).status).toBe("completed");
  expect(await ask(server, "pulled")).toBe(ANSWER);
  const remove = () => client.delete("/nightshift/models/pulled");
  const refused = await remove().then(modelFileDeleted.parse, (error: unknown) => error);
  expect(refused instanceof APIError ? refused.code : refused).toBe("model_in_use");
  await until("the idle model to leave", () => server.enginePids.length === 0);
  await until("the deletion", async () => (await remove().catch(() => null)) !== null);
  expect(await listed()).toEqual(["demo"]);
});

test("a server without --keep-alive does not start with the folder", async () => {
  const server = new TestServer(["--serve-models-dir", "on"]);
  expect(await server.exited).toMatchObject({ code: 1 });
  expect(server.output).toContain("set --keep-alive, such as --keep-alive 5m.");
});
