import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { chatLine, jsonl, reaches, submit } from "../batch/batch-rig.ts";
import { complete } from "./ask.ts";
import { startServer, type TestServer } from "./server.ts";
import { until } from "./until.ts";

let folder: string;
let file: string;
let server: TestServer;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "nightshift-reload-"));
  file = join(folder, "nightshift.yaml");
  writeFileSync(file, "shift: off\nprices: { demo: { input: 1, cachedInput: 1, output: 1 } }\n");
  server = await startServer("--config", file);
});
afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true });
});

/** Writes the file, sends SIGHUP and resolves with the log line about it. */
async function reload(yaml: string, message: string): Promise<Record<string, unknown>> {
  const before = server.logged(message).length;
  writeFileSync(file, yaml);
  server.kill("SIGHUP");
  await until(`"${message}"`, () => server.logged(message).length > before);
  return server.logged(message).at(-1)!;
}

/** USD per token of one request; a batch line may be charged meanwhile. */
async function costOf(tokens: number): Promise<number> {
  const total = async () => (await server.metrics()).sum("nightshift_ledger_cost_usd_total", { tier: "default" });
  const before = await total();
  const { usage } = await complete(server.client, "Hello!", { max_tokens: tokens, ignore_eos: true });
  // The ledger's row may follow the answer by 100 ms.
  await until("the cost to be counted", async () => (await total()) > before);
  return ((await total()) - before) / usage!.total_tokens;
}

test("SIGHUP applies new prices and another shift to a waiting batch", async () => {
  expect(await costOf(4)).toBeCloseTo(1e-6, 12);
  const made = await submit(server.client, jsonl([chatLine("a", "Hello!")]));
  await reaches(server.client, made.id, "in_progress");
  const said = await reload(
    "shift: always\nprices: { demo: { input: 5, cachedInput: 5, output: 5 } }\n",
    "Options were reloaded",
  );
  expect(said.changed).toEqual(["prices", "shift"]);
  expect(await costOf(4)).toBeCloseTo(5e-6, 12);
  expect((await reaches(server.client, made.id)).status).toBe("completed");
});

test("an invalid file changes nothing, and is logged with its line", async () => {
  const message = "The options were not reloaded: nothing was changed";
  const syntax = await reload("prices:\n  demo: { input: 7\nshift: off\n", message);
  expect(syntax.reason).toMatch(/nightshift\.yaml is not valid YAML: .* at line 3/);
  const value = await reload("logLevel: info\nshift: sometimes\n", message);
  expect(value.reason).toMatch(/"shift" in .*nightshift\.yaml, line 2, must be/);
  expect(await costOf(4)).toBeCloseTo(5e-6, 12);
});

test("options that need a restart are named, and the others applied", async () => {
  await reload("port: 1\nsequences: 7\nlogLevel: debug\n", "Options were reloaded");
  const warning = await server.says("These options changed too, which takes a restart");
  // The port of the command line still overrides the file's.
  expect(warning.options).toEqual(["sequences"]);
  await complete(server.client, "Hello!");
  await until("a line of level debug", () => server.logged("generation ended").length > 0);
});
