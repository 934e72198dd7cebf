import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import OpenAI from "openai";
import { Agent, fetch as fetchOver } from "undici";
import { expect, onTestFinished, test } from "vitest";
import { checkHealth } from "../../server/cli/health-command.ts";
import { ask } from "../api/ask.ts";
import { TestServer } from "../api/server.ts";

function socketPath(): string {
  const folder = mkdtempSync(join(tmpdir(), "nightshift-socket-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, "http.sock");
}

function start(path: string, ...args: string[]): TestServer {
  const server = new TestServer(["--uds", path, ...args]);
  onTestFinished(() => server.stop());
  return server;
}

function over(path: string): typeof fetch {
  const dispatcher = new Agent({ connect: { socketPath: path } });
  onTestFinished(() => dispatcher.close());
  return ((url: string, init: object) => fetchOver(url, { ...init, dispatcher })) as unknown as typeof fetch;
}

const health = (path: string) => checkHealth({ host: "127.0.0.1", port: 1, uds: path });

test("a server on a Unix socket answers there, and its file ends with it", async () => {
  const path = socketPath();
  const server = start(path);
  await server.says("Ready");
  expect(statSync(path).mode & 0o777).toBe(0o660);
  expect(server.output).toContain(`curl --unix-socket '${path}' -N http://localhost/v1/chat/completions`);
  await health(path);
  const client = new OpenAI({ baseURL: "http://localhost/v1", apiKey: "none", maxRetries: 0, fetch: over(path) });
  expect(await ask(client, "Capital of France?")).toBe("The capital of France is Paris.");
  server.kill("SIGTERM");
  expect((await server.exited).code).toBe(0);
  expect(statSync(path, { throwIfNoEntry: false })).toBeUndefined();
});

test("a socket file that a killed server left is replaced", async () => {
  const path = socketPath();
  const killed = start(path);
  await killed.says("Listening; the models are loading");
  killed.killGroup("SIGKILL");
  await killed.exited;
  expect(statSync(path).isSocket()).toBe(true);
  const next = start(path);
  await next.says("Listening; the models are loading");
  await health(path);
});

test("a socket of another process and a plain file are left alone", async () => {
  const path = socketPath();
  await start(path).says("Listening; the models are loading");
  const second = start(path);
  expect((await second.exited).code).not.toBe(0);
  expect(second.output).toContain(`Cannot listen on --uds ${path}: another process listens there.`);
  await health(path);
  const file = `${path}.txt`;
  writeFileSync(file, "kept");
  const third = start(file);
  expect((await third.exited).code).not.toBe(0);
  expect(third.output).toContain(`Cannot listen on --uds ${file}: there is a file, folder or link.`);
  expect(statSync(file).isFile()).toBe(true);
});

test.each([
  ["in a folder that is not there", "missing/http.sock", [], "there is no folder"],
  ["that is too long for the system", `${"x".repeat(120)}.sock`, [], "the path is longer than"],
  ["beside --host", "other.sock", ["--host", "0.0.0.0"], "--uds is listened on in place of --host 0.0.0.0"],
])("a path %s is refused, and leaves nothing", async (_, name, args, message) => {
  const folder = dirname(socketPath());
  const server = start(join(folder, name), ...args);
  expect((await server.exited).code).toBe(1);
  expect(server.output).toContain(message);
  expect(readdirSync(folder)).toEqual([]);
});

test("wrong keys are limited by the address that the proxy names", async () => {
  const path = socketPath();
  await start(path, "--api-keys", "on").says("Listening; the models are loading");
  const send = over(path);
  const wrongKey = async (client: string) => {
    const headers = { authorization: "Bearer wrong", "x-forwarded-for": client };
    return (await send("http://localhost/v1/models", { headers })).status;
  };
  for (let failures = 0; failures < 20; failures++) await wrongKey("192.0.2.1");
  expect(await wrongKey("192.0.2.1")).toBe(429);
  expect(await wrongKey("192.0.2.2")).toBe(401);
});
