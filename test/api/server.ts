import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import OpenAI from "openai";
import { Scrape } from "./scrape.ts";
import { until } from "./until.ts";

/** True in the project "over an upstream", where a second server computes the models of the one under test. */
export const OVER_UPSTREAM = process.env.TEST_OVER_UPSTREAM !== undefined;

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
export const CLI = `${ROOT}dist/server/cli.js`;
export const SERVE = [process.execPath, CLI, "serve"] as const;
export const DEMO_MODEL = `${ROOT}models/demo.gguf`;

export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** This process's environment without the variables that change the server: options, and those of npm. */
function ownEnvironment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith("NIGHTSHIFT_"));
  return { ...Object.fromEntries(kept), npm_lifecycle_event: undefined };
}

/** The built server as a child of the test, on a port and, unless the arguments name one, in a data directory of its own. */
export class TestServer {
  readonly pid: number;
  readonly exited: Promise<Exit>;
  output = "";
  readonly #child: ChildProcess;

  /**
   * `env` is added to the test's own environment, `command` receives the arguments, and `fds` are open files of the test
   * that the child has from 3 on.
   */
  constructor(
    args: readonly string[],
    env: Record<string, string> = {},
    command: readonly [string, ...string[]] = SERVE,
    fds: readonly number[] = [],
  ) {
    if (!existsSync(CLI)) throw new Error("dist/ is missing: run `npm run build`, or `npm test`, which builds first");
    const dataDir = mkdtempSync(join(tmpdir(), "nightshift-data-"));
    // A calibration takes a second or two with each new data directory.
    const usual = ["--port", "0", "--log-format", "json", "--calibration", "off"];
    const options = [...usual, "--data-dir", dataDir, ...args];
    const [program, ...first] = command;
    this.#child = spawn(program, [...first, ...options], {
      cwd: ROOT,
      stdio: ["ignore", "pipe", "pipe", ...fds],
      env: { ...ownEnvironment(), ...env },
      // A process group of its own, which can be signalled as by a terminal.
      detached: true,
    });
    this.pid = this.#child.pid!;
    const receive = (chunk: Buffer) => {
      this.output += chunk.toString();
    };
    this.#child.stdout!.on("data", receive);
    this.#child.stderr!.on("data", receive);
    const orphan = () => this.killGroup("SIGKILL");
    process.once("exit", orphan);
    // "close" follows after the output has been read to its end.
    this.exited = new Promise((resolve) => {
      this.#child.once("close", (code, signal) => {
        process.off("exit", orphan);
        rmSync(dataDir, { recursive: true, force: true });
        resolve({ code, signal });
      });
    });
  }

  /** The fields of the log lines with this message, oldest first. */
  logged(message: string): Record<string, unknown>[] {
    const lines = this.output.split("\n").filter((line) => line.startsWith("{") && line.endsWith("}"));
    return lines.map((line): Record<string, unknown> => JSON.parse(line)).filter(({ msg }) => msg === message);
  }

  /** Resolves when the log has the message; rejects with all output when the server ends before. */
  async says(message: string): Promise<Record<string, unknown>> {
    await until(`the log line "${message}"`, () => this.logged(message).length > 0 || this.#over);
    const [line] = this.logged(message);
    if (line === undefined) throw new Error(`The server ended without "${message}":\n${this.output}`);
    return line;
  }

  get #over(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  get origin(): string {
    const [line] = this.logged("Listening; the models are loading");
    if (line === undefined) throw new Error(`The server does not listen:\n${this.output}`);
    return String(line.url);
  }

  /** Without the SDK's own retries, which would hide responses of the server. */
  get client(): OpenAI {
    return new OpenAI({ baseURL: `${this.origin}/v1`, apiKey: "none", maxRetries: 0 });
  }

  /** The running engine processes: direct children of the server that run its program, as long as they are no zombies. */
  get enginePids(): number[] {
    const children = readFileSync(`/proc/${this.pid}/task/${this.pid}/children`, "utf8");
    return children.split(" ").filter(Boolean).map(Number).filter(isAlive).filter(isEngine);
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Signals all processes of the group, if any are left, as Ctrl-C does. */
  killGroup(signal: NodeJS.Signals): void {
    try {
      process.kill(-this.pid, signal);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
    }
  }

  async ready(): Promise<Response> {
    return fetch(`${this.origin}/ready`);
  }

  /** Resolves when /ready answers with this status. */
  async readyIs(status: number): Promise<void> {
    await until(`/ready to be ${status}`, async () => (await this.ready()).status === status);
  }

  async post(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
    return fetch(this.origin + path, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: typeof body === "string" ? body : JSON.stringify(body),
    });
  }

  async metrics(): Promise<Scrape> {
    const response = await fetch(`${this.origin}/metrics`);
    return new Scrape(await response.text());
  }

  /** Resolves when the metric is at least `value`, summed over the series with these labels. */
  async reaches(name: string, value: number, labels: Record<string, string> = {}): Promise<void> {
    const reached = async () => (await this.metrics()).sum(name, labels) >= value;
    await until(`${name} to reach ${value}`, reached);
  }

  /** Resolves when no request of any model runs or waits. */
  async idle(): Promise<void> {
    await until("no request running or waiting", async () => {
      const metrics = await this.metrics();
      return metrics.sum("nightshift_requests_running") + metrics.sum("nightshift_requests_waiting") === 0;
    });
  }

  async stop(): Promise<void> {
    if (!this.#over) this.killGroup("SIGKILL");
    await this.exited;
  }
}

/**
 * Starts the server and waits until its models are loaded; the demo model unless `args` name others. Over an
 * upstream another server has these arguments, and the one that is returned has its models from that.
 */
export async function startServer(...args: string[]): Promise<TestServer> {
  const server = await readied(new TestServer(args));
  if (!OVER_UPSTREAM) return server;
  const front = new TestServer(["--upstream", `behind=${server.origin}/v1`], {}, SERVE);
  void front.exited.then(() => server.stop());
  return readied(front);
}

/** Waits until its models are loaded; stops a server that fails to load them. */
export async function readied(server: TestServer): Promise<TestServer> {
  try {
    await server.says("Ready");
  } catch (error) {
    await server.stop();
    throw error;
  }
  return server;
}

/** False for the process that validates input files. */
function isEngine(pid: number): boolean {
  return !readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("/batch/validation/");
}

/** False for a process that has ended, reaped or not. */
export function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}
