import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { ask, complete } from "../api/ask.ts";
import { DEMO_MODEL, startServer, TestServer } from "../api/server.ts";

const folder = mkdtempSync(join(tmpdir(), "nightshift-bad-model-"));
afterAll(() => rmSync(folder, { recursive: true }));

let server: TestServer;
afterEach(() => server.stop());

const demo = readFileSync(DEMO_MODEL);

/** The demo model with overwritten bytes in the middle of its header. */
function corrupt(): Buffer {
  const bytes = Buffer.from(demo);
  bytes.fill(0xff, 64, 4096);
  return bytes;
}

/** The magic and version of a GGUF file, followed by noise. */
function garbage(): Buffer {
  const bytes = Buffer.alloc(64 * 1024);
  for (let i = 0; i < bytes.length; i++) bytes[i] = (i * 2_654_435_761) >>> 13;
  bytes.write("GGUF", "latin1");
  bytes.writeUInt32LE(3, 4);
  return bytes;
}

const BAD: [string, Buffer][] = [
  ["corrupt", corrupt()],
  ["truncated", demo.subarray(0, demo.length / 2)],
  ["only-a-header", demo.subarray(0, 24)],
  ["garbage", garbage()],
];

function file(name: string, bytes: Buffer): string {
  const path = join(folder, `${name}.gguf`);
  writeFileSync(path, bytes);
  return path;
}

describe.each(BAD)("a %s GGUF", (name, bytes) => {
  test("ends the server with 1, and names the model and the reason", async () => {
    server = new TestServer(["--model", `bad=${file(name, bytes)}`]);
    expect(await server.exited).toEqual({ code: 1, signal: null });
    expect(server.output).toMatch(/bad|gguf/);
    expect(server.output).toContain(name);
    expect(server.output).not.toMatch(/^\s+at .*\(/m);
  });
});

test("a bad model beside a good one is 503 with its reason", async () => {
  const path = file("half", demo.subarray(0, demo.length - 100_000));
  server = await startServer("--model", `good=${DEMO_MODEL}`, "--model", `bad=${path}`);
  expect(await ask(server.client, "Capital of Peru?", { model: "good" })).toBe("The capital of Peru is Lima.");
  const refused = await complete(server.client, "Hello!", { model: "bad" }).catch((error: unknown) => error);
  expect(refused).toMatchObject({ status: 503, type: "server_error", message: expect.stringContaining("bad") });
  const ready = await server.ready();
  expect(ready.status).toBe(200);
  expect((await fetch(`${server.origin}/ready?strict`)).status).toBe(503);
  expect(await ready.json()).toMatchObject({
    status: "degraded",
    models: [
      { id: "good", state: "ready" },
      { id: "bad", state: "failed", reason: expect.stringMatching(/\w/) },
    ],
  });
});

test("a file that is no GGUF ends the server with 1, and is named", async () => {
  server = new TestServer(["--model", file("notes", Buffer.from("Dear diary, ".repeat(100)))]);
  expect(await server.exited).toEqual({ code: 1, signal: null });
  expect(server.output).toContain("notes.gguf");
  expect(server.output).not.toMatch(/^\s+at .*\(/m);
});
