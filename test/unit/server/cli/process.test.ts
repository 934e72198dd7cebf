import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, it } from "vitest";

// The built command, as users run it; `npm test` builds before it tests.
const cli = fileURLToPath(new URL("../../../../dist/server/cli.js", import.meta.url));
const demo = fileURLToPath(new URL("../../../../models/demo.gguf", import.meta.url));

let dir: string;
let children: ChildProcess[];
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "nightshift-cli-"));
  children = [];
});
afterEach(async () => {
  for (const child of children) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.kill("SIGKILL");
    await once(child, "exit");
  }
  rmSync(dir, { recursive: true });
});

function run(...args: string[]) {
  const child = spawn(process.execPath, [cli, ...args], { cwd: dir, stdio: ["ignore", "pipe", "pipe"] });
  children.push(child);
  let err = "";
  child.stderr.on("data", (chunk: Buffer) => {
    err += chunk.toString();
  });
  const ended = once(child, "close").then(([code]) => ({ code: code as number | null, err }));
  return { child, ended };
}

/** The base URL out of the banner: from then on the server is ready. */
async function baseUrl(child: ChildProcess): Promise<string> {
  for await (const line of createInterface({ input: child.stdout! })) {
    const url = /Base URL +(\S+)/.exec(line)?.[1];
    if (url !== undefined) return url;
  }
  throw new Error("ended without a banner");
}

it("exits with 1 when its help could not be written", async () => {
  const full = openSync("/dev/full", "w");
  const child = spawn(process.execPath, [cli, "serve", "--help"], { stdio: ["ignore", full, "ignore"] });
  children.push(child);
  expect(await once(child, "exit")).toEqual([1, null]);
  closeSync(full);
});

it("exits with 1 and names --port when the port is taken", async () => {
  const other = createServer().listen(0, "127.0.0.1");
  await once(other, "listening");
  const address = other.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const { code, err } = await run("--port", String(port)).ended;
  other.close();
  expect(code).toBe(1);
  expect(err).toContain(`error: Port ${port} on 127.0.0.1 is taken by another process. Choose another: --port`);
});

it("exits with 1 and names the file when a model is missing", async () => {
  const { code, err } = await run("--port", "0", "--model", "absent.gguf").ended;
  expect(code).toBe(1);
  expect(err).toMatch(/^error: There is no model file absent\.gguf\./);
});

it("exits with 1 and the reason when no model can be loaded", async () => {
  writeFileSync(join(dir, "cut.gguf"), readFileSync(demo).subarray(0, 20_000));
  const { code, err } = await run("--port", "0", "--model", "cut.gguf").ended;
  expect(code).toBe(1);
  expect(err).toMatch(/No model could be loaded:\n {2}cut: \S/);
});

it("serves the models that load, warns of the others, and exits with 0 on SIGTERM", async () => {
  writeFileSync(join(dir, "cut.gguf"), readFileSync(demo).subarray(0, 20_000));
  const { child, ended } = run("--port", "0", "--model", "cut.gguf", "--model", `good=${demo}`);
  const url = await baseUrl(child);
  expect((await fetch(`${url}/models`)).status).toBe(200);
  child.kill("SIGTERM");
  const { code, err } = await ended;
  expect(code).toBe(0);
  expect(err).toMatch(/Warning: serving without the models that could not be loaded:\n {2}cut: /);
});

it("serves on after the reader of its output has gone", async () => {
  const { child, ended } = run("--port", "0", "--log-level", "debug");
  const url = await baseUrl(child);
  child.stdout?.destroy();
  child.stderr?.destroy();
  for (let i = 0; i < 20; i++) expect((await fetch(`${url}/models`)).status).toBe(200);
  child.kill("SIGTERM");
  expect((await ended).code).toBe(0);
});

it("doctor exits with 0 for the demo model and prints JSON", async () => {
  const { child, ended } = run("doctor", "--json");
  let out = "";
  child.stdout.on("data", (chunk: Buffer) => {
    out += chunk.toString();
  });
  expect((await ended).code).toBe(0);
  const report: unknown = JSON.parse(out);
  expect(report).toMatchObject({
    ok: true,
    models: [{ model: "demo", ok: true, facts: { local: { architecture: "llama" } } }],
  });
});

it("doctor exits with 1 and the reason when a model is damaged", async () => {
  writeFileSync(join(dir, "cut.gguf"), readFileSync(demo).subarray(0, 20_000));
  const { child, ended } = run("doctor", "--model", "cut.gguf");
  let out = "";
  child.stdout.on("data", (chunk: Buffer) => {
    out += chunk.toString();
  });
  expect((await ended).code).toBe(1);
  expect(out).toMatch(/Model cut: failed\n {2}reason/);
});
