import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const CLI = fileURLToPath(new URL("../server/cli.js", import.meta.url));
const READY_WITHIN_MS = 120_000;
const POLL_MS = 20;
const STOP_WITHIN_MS = 15_000;

/** This project's server as a child of the benchmark. */
export interface ServerProcess {
  base: URL;
  pid: number;
  command: string[];
  /** From spawning it to its first 200 at /ready. */
  readyMs: number;
  stop: () => Promise<void>;
}

/** Starts the server with one model, named `bench`, and waits until it is ready. Rejects with its last words if it ends. */
export async function startServer(gguf: string, options: string[]): Promise<ServerProcess> {
  const port = await freePort();
  const dataDir = mkdtempSync(join(tmpdir(), "nightshift-bench-"));
  const command = [CLI, "serve", "--model", `bench=${gguf}`, "--port", String(port), "--data-dir", dataDir, ...options];
  const began = performance.now();
  const child = spawn(process.execPath, command, { stdio: ["ignore", "pipe", "pipe"] });
  child.once("exit", () => rmSync(dataDir, { recursive: true, force: true }));
  let said = "";
  const listen = (text: Buffer) => {
    said = (said + text.toString("utf8")).slice(-4000);
  };
  child.stdout.on("data", listen);
  child.stderr.on("data", listen);
  await once(child, "spawn");
  // without this a benchmark that fails would leave a server behind
  const orphan = () => child.kill("SIGKILL");
  process.once("exit", orphan);
  const origin = `http://127.0.0.1:${port}`;
  try {
    await ready(child, `${origin}/ready`, began + READY_WITHIN_MS);
  } catch (error) {
    child.kill("SIGKILL");
    throw new Error(`the server did not get ready: ${error instanceof Error ? error.message : error}\n${said}`);
  }
  const readyMs = performance.now() - began;
  const stop = async () => {
    process.removeListener("exit", orphan);
    if (hasEnded(child)) return;
    const ended = once(child, "exit");
    child.kill("SIGTERM");
    const kill = setTimeout(() => child.kill("SIGKILL"), STOP_WITHIN_MS);
    await ended;
    clearTimeout(kill);
  };
  return { base: new URL(`${origin}/v1/`), pid: child.pid!, command: [process.execPath, ...command], readyMs, stop };
}

async function ready(child: ChildProcess, url: string, deadline: number): Promise<void> {
  for (;;) {
    if (hasEnded(child)) throw new Error(`it ended with ${child.exitCode ?? child.signalCode}`);
    if (performance.now() > deadline) throw new Error(`not within ${READY_WITHIN_MS / 1000} s`);
    const response = await fetch(url).catch(() => null);
    await response?.body?.cancel();
    if (response?.status === 200) return;
    await wait(POLL_MS);
  }
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("no free port");
  return address.port;
}
