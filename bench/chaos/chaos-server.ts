import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";

const READY_WITHIN_MS = 120_000;
const POLL_MS = 50;
const LOG_TAIL = 4000;

/** Process starts and ends during a run, expected and unexpected. */
export interface ProcessCounts {
  serverStarts: number;
  serverEndsUnasked: string[];
  enginesAsked: number;
  enginesDied: number;
}

/** The server under test: one data directory and one port over several processes. */
export class ChaosServer {
  readonly origin: string;
  readonly base: URL;
  readonly lives: ProcessCounts = { serverStarts: 0, serverEndsUnasked: [], enginesAsked: 0, enginesDied: 0 };
  /** Times of intended failures, by performance.now(). */
  readonly brokenAt: number[] = [];
  readonly #command: string[];
  #child: ChildProcess | null = null;
  #expectsEnd = false;
  #printed = false;
  #tail = "";
  #line = "";

  /** @param command of a server that logs JSON and listens at the port */
  constructor(port: number, command: string[]) {
    this.origin = `http://127.0.0.1:${port}`;
    this.base = new URL(`${this.origin}/v1/`);
    this.#command = command;
    process.once("exit", () => this.#child?.kill("SIGKILL"));
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  /** The end of the current process's output. */
  get tail(): string {
    return this.#tail;
  }

  async start(): Promise<void> {
    const [program, ...args] = this.#command;
    const child = spawn(program!, args, { stdio: ["ignore", "pipe", "pipe"] });
    this.#child = child;
    this.#expectsEnd = false;
    this.#printed = false;
    this.#tail = "";
    this.lives.serverStarts++;
    child.stdout.on("data", (text: Buffer) => this.#read(text.toString("utf8")));
    child.stderr.on("data", (text: Buffer) => this.#read(text.toString("utf8")));
    child.once("exit", (code, signal) => {
      if (!this.#expectsEnd) this.lives.serverEndsUnasked.push(`${code ?? signal}: ${this.#tail.slice(-600)}`);
    });
    await this.ready();
  }

  /** Resolves when the server is ready; rejects when it has ended, or is not ready in time. */
  async ready(): Promise<void> {
    const deadline = performance.now() + READY_WITHIN_MS;
    for (;;) {
      if (this.#hasEnded) throw new Error(`the server ended unasked: ${this.#tail}`);
      const response = await fetch(`${this.origin}/ready`).catch(() => null);
      await response?.body?.cancel();
      if (response?.status === 200) return;
      if (performance.now() > deadline) throw new Error(`the server was not ready in time: ${this.#tail}`);
      // Requests during the start find no server, however long it takes.
      this.breaks();
      await wait(POLL_MS);
    }
  }

  get #hasEnded(): boolean {
    return this.#child !== null && (this.#child.exitCode !== null || this.#child.signalCode !== null);
  }

  /**
   * Reloads the options, but not while the process starts: SIGHUP ends a process that has not installed its handler.
   */
  reload(): void {
    if (this.#printed) this.#child!.kill("SIGHUP");
  }

  /** Ends the process by SIGKILL, or by SIGTERM as an operator does, and waits for its exit. */
  async end(signal: "SIGKILL" | "SIGTERM"): Promise<void> {
    this.#expectsEnd = true;
    this.breaks();
    const child = this.#child!;
    const ended = this.#hasEnded ? null : once(child, "exit");
    child.kill(signal);
    await ended;
    this.breaks();
    const { exitCode, signalCode } = child;
    if (signal === "SIGTERM" && exitCode !== 0)
      this.lives.serverEndsUnasked.push(`SIGTERM ended it with ${exitCode ?? signalCode}: ${this.#tail.slice(-600)}`);
  }

  /** Marks this moment: requests that fail around it are expected failures. */
  breaks(): void {
    this.brokenAt.push(performance.now());
  }

  /** The number of open files of the server's process. Linux only. */
  openFiles(): number {
    return readdirSync(`/proc/${this.pid}/fd`).length;
  }

  #read(text: string): void {
    this.#printed = true;
    this.#tail = (this.#tail + text).slice(-LOG_TAIL);
    const lines = (this.#line + text).split("\n");
    this.#line = lines.pop()!;
    for (const line of lines) if (line.includes('"The engine died and starts again"')) this.lives.enginesDied++;
  }
}
