import { type ChildProcess, fork } from "node:child_process";
import type { Log } from "../../platform/log.ts";
import type { EngineConfig } from "../protocol/config.ts";
import type { FromEngine, ToEngine } from "../protocol/messages.ts";
import { engineEnvironment } from "./environment.ts";
import { OutputTail } from "./output-tail.ts";

export type FirstMessage = Extract<ToEngine, { config: EngineConfig }>;

export interface EngineProcessHandlers {
  message(message: FromEngine): void;
  /** Once, after the last message. The first line of the reason is the kind of death, the others are the last output. */
  died(reason: string): void;
}

/**
 * Milliseconds from SIGKILL to the death report. The kernel frees a killed process's memory before it reports the death; a GPU
 * driver can delay that.
 */
const DEATH_GRACE_MS = 10_000;
/** Milliseconds from the exit to the end of the output, and from a closed channel to SIGKILL. */
const OUTPUT_GRACE_MS = 1000;

/**
 * Children of this process, which Node does not kill when it exits. An engine ends by itself when its channel closes, which also
 * covers kill -9 of this process; the exit hook is for an engine whose JavaScript thread does not run.
 */
const living = new Set<ChildProcess>();
let exitHooked = false;

/** One engine process: a direct child, which ends with its message channel. */
export class EngineProcess {
  readonly #child: ChildProcess;
  readonly #handlers: EngineProcessHandlers;
  readonly #gone: Promise<void>;
  #resolveGone: () => void = () => {};
  #over = false;
  #stopping = false;
  #killReason: string | null = null;

  /** @param first starts or measures a model */
  constructor(entry: URL | string, first: FirstMessage, log: Log, handlers: EngineProcessHandlers) {
    this.#handlers = handlers;
    this.#gone = new Promise((resolve) => {
      this.#resolveGone = resolve;
    });
    this.#child = fork(entry, [], {
      serialization: "advanced",
      execArgv: [],
      stdio: ["ignore", "pipe", "pipe", "ipc"],
      env: engineEnvironment(process.env),
    });
    const child = this.#child;
    living.add(child);
    if (!exitHooked) {
      exitHooked = true;
      process.on("exit", () => {
        for (const each of living) each.kill("SIGKILL");
      });
    }

    const { model } = first.config;
    const tail = new OutputTail((line) => log.debug({ model, pid: child.pid }, line));
    child.stdout?.on("data", (chunk: Buffer) => tail.push(chunk));
    child.stderr?.on("data", (chunk: Buffer) => tail.push(chunk));

    child.on("message", (message) => {
      if (!this.#over) handlers.message(message as FromEngine);
    });
    child.once("error", (error) => {
      // Also raised when a signal could not be sent; only a process that did not start ends here.
      if (child.pid === undefined) this.#end(`The engine process could not be started: ${error.message}`);
    });
    // After `exit`, messages and output may still be on their way; `close` comes when all of them have been read.
    child.once("exit", (code, signal) => {
      living.delete(child);
      const how = this.#killReason ?? describeExit(code, signal);
      const over = () => this.#end([how, ...tail.lines].join("\n"));
      // A channel that this side closed never counts as read.
      if (this.#stopping) return over();
      child.once("close", over);
      setTimeout(over, OUTPUT_GRACE_MS).unref();
    });
    // A process without its channel can answer no request.
    child.once("disconnect", () => {
      if (!this.#stopping) this.#killIn(OUTPUT_GRACE_MS);
    });

    this.send(first);
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Sends nothing to a dying process, whose death is reported by its exit. */
  send(message: ToEngine): void {
    if (this.#child.connected) this.#child.send(message, ignoreError);
  }

  /** For a process that no longer answers; died() gets `reason` instead of the signal. */
  kill(reason: string): void {
    if (this.#over || this.#killReason !== null) return;
    this.#killReason = reason;
    this.#child.kill("SIGKILL");
    // A process that hangs in a driver dies when the driver returns; its death is reported before.
    setTimeout(() => this.#end(reason), DEATH_GRACE_MS).unref();
  }

  /** Closes the channel, kills what has not ended after `graceMs`, and resolves when the process is gone. */
  async stop(graceMs: number): Promise<void> {
    this.#stopping = true;
    if (this.#child.connected) this.#child.disconnect();
    this.#killIn(graceMs);
    const giveUp = setTimeout(() => this.#end("The engine process does not end."), graceMs + DEATH_GRACE_MS);
    await this.#gone;
    clearTimeout(giveUp);
  }

  #killIn(ms: number): void {
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), ms);
    timer.unref();
    this.#gone.then(() => clearTimeout(timer));
  }

  #end(reason: string): void {
    if (this.#over) return;
    this.#over = true;
    living.delete(this.#child);
    this.#resolveGone();
    this.#handlers.died(reason);
  }
}

function describeExit(code: number | null, signal: NodeJS.Signals | null): string {
  if (signal === "SIGKILL") return "The engine process was killed (SIGKILL; perhaps the machine ran out of memory).";
  if (signal !== null) return `The engine process was ended by ${signal}.`;
  return `The engine process ended with exit code ${code}.`;
}

function ignoreError(): void {}
