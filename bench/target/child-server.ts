import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { setTimeout as wait } from "node:timers/promises";

const READY_WITHIN_MS = 120_000;
const POLL_MS = 20;
const STOP_WITHIN_MS = 15_000;

/** A server that runs as a child of the benchmark. */
export interface ChildServer {
  /** Base URL of its OpenAI endpoints. */
  base: URL;
  pid: number;
  command: string[];
  /** Milliseconds from the spawn to the first 200 of the readiness path. */
  readyMs: number;
  stop: () => Promise<void>;
}

/**
 * Starts `command` with a free port and waits for a 200 of `readyPath`. Rejects with the child's last output when it
 * ends before; `onExit` is called at its end in any case.
 */
export async function startChild(
  command: (port: number) => string[],
  readyPath: string,
  onExit: () => void = () => {},
): Promise<ChildServer> {
  const port = await freePort();
  const [program, ...args] = command(port);
  const began = performance.now();
  const child = spawn(program!, args, { stdio: ["ignore", "pipe", "pipe"] });
  child.once("exit", onExit);
  let output = "";
  const listen = (text: Buffer) => {
    output = (output + text.toString("utf8")).slice(-4000);
  };
  child.stdout.on("data", listen);
  child.stderr.on("data", listen);
  await once(child, "spawn");
  // without this a failed benchmark would leave a server running
  const orphan = () => child.kill("SIGKILL");
  process.once("exit", orphan);
  const origin = `http://127.0.0.1:${port}`;
  try {
    await ready(child, `${origin}${readyPath}`, began + READY_WITHIN_MS);
  } catch (error) {
    child.kill("SIGKILL");
    throw new Error(`the server did not become ready: ${error instanceof Error ? error.message : error}\n${output}`);
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
  return { base: new URL(`${origin}/v1/`), pid: child.pid!, command: [program!, ...args], readyMs, stop };
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

/** A port without a listener at this moment. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("no free port");
  return address.port;
}
