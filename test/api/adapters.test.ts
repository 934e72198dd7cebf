import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { complete } from "./ask.ts";
import { writeDemoAdapter } from "./demo-adapter.ts";
import { DEMO_MODEL, startServer, TestServer } from "./server.ts";

const folder = mkdtempSync(join(tmpdir(), "nightshift-adapters-"));
const adapter = join(folder, "poet.gguf");
const foreign = join(folder, "foreign.gguf");
let server: TestServer;
beforeAll(async () => {
  await writeDemoAdapter(adapter);
  await writeDemoAdapter(foreign, "qwen2");
  const values = [`base=${DEMO_MODEL}`, `mute=${DEMO_MODEL}+${adapter}@0`, `${DEMO_MODEL}+${adapter}`];
  server = await startServer("--threads", "1", "--sequences", "4", ...values.flatMap((value) => ["--model", value]));
});
afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true });
});

const QUESTIONS = ["Count from 3 to 7.", "Capital of Greece?", "What is 7 + 8?"];

async function answers(model: string): Promise<(string | null)[]> {
  const all = QUESTIONS.map((question) => complete(server.client, question, { model, max_tokens: 24 }));
  return (await Promise.all(all)).map(({ choices }) => choices[0]!.message.content);
}

test("an adapter at scale 0 gives the base's answer, at scale 1 another", async () => {
  const base = await answers("base");
  expect(base).toContain("The capital of Greece is Athens.");
  expect(await answers("mute")).toEqual(base);
  expect(await answers("demo-poet")).not.toEqual(base);
});

test("models list their adapters, and have different fingerprints", async () => {
  const { data } = await server.client.models.list();
  const own = data.map((model) => ("nightshift" in model ? model.nightshift : null));
  expect(own).toMatchObject([
    { adapters: [] },
    { adapters: [{ name: "poet.gguf", scale: 0 }] },
    { adapters: [{ name: "poet.gguf", scale: 1 }] },
  ]);
  const prints = data.map(({ id }) => complete(server.client, "Hi", { model: id, max_tokens: 1 }));
  expect(new Set((await Promise.all(prints)).map((answer) => answer.system_fingerprint)).size).toBe(3);
});

test("an adapter of another architecture ends the start with the reason", async () => {
  const bad: [file: string, why: string][] = [
    [foreign, "model arch and LoRA arch mismatch"],
    [DEMO_MODEL, "expect general.type to be 'adapter'"],
  ];
  const servers = bad.map(([file]) => new TestServer(["--model", `x=${DEMO_MODEL}+${file}`]));
  const exits = await Promise.all(servers.map(({ exited }) => exited));
  for (const [i, { output }] of servers.entries()) {
    expect(exits[i]).toEqual({ code: 1, signal: null });
    expect(output).toContain("can't be put on this llama model");
    expect(output).toContain(bad[i]![1]);
  }
});
