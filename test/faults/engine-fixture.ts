import { EventEmitter, once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished, vi } from "vitest";
import { startLocalEngine } from "../../engine/client/local-engine.ts";
import type { LocalEngineDeps } from "../../engine/client/local-engine-deps.ts";
import type { Engine, RequestListener, Submission, Ticket } from "../../engine/engine.ts";
import type { EngineConfig } from "../../engine/protocol/config.ts";
import type { SequenceOutput } from "../../engine/protocol/output.ts";
import type { StepStats } from "../../engine/protocol/step.ts";
import type { ApiError } from "../../openapi/api-error.ts";
import { PLAIN_SUBMISSION } from "../plain-submission.ts";

export const FAST_RESTART = {
  firstMs: 5,
  capMs: 20,
  healthyMs: 60_000,
  maxDeaths: 5,
  maxLoads: 2,
  firstReloadMs: 600_000,
  capReloadMs: 600_000,
};

/** Configuration of an engine without its model file. */
export const CONFIG: EngineConfig = {
  model: "fake",
  path: "",
  context: null,
  sequences: 4,
  kv: "auto",
  cells: null,
  threads: null,
  gpu: "off",
  splitMode: "none",
  cacheTypeK: "f16",
  cacheTypeV: "f16",
  flashAttention: "auto",
  calibrationDir: null,
  llamaDir: null,
  stepTokens: 512,
  sloTtftMs: 500,
  sloItlMs: 50,
  batchTax: 0.1,
  batchStepMs: null,
  timeoutMs: 120_000,
  memory: null,
  parkMemory: 0,
  cacheScope: "owner",
  reasoningBudget: null,
  adapters: [],
  toolFormat: null,
  chatTemplate: null,
};

/** Milliseconds; a watchdog ticks eight times within it. */
export const HANG_MS = 80_000;
export const TICK_MS = HANG_MS / 8;

/** Stops the ticks of new watchdogs until the end of the test; the returned function makes one tick. */
export function stopWatchdogs(): (ms: number) => void {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  onTestFinished(() => {
    vi.useRealTimers();
  });
  return (ms) => void vi.advanceTimersByTime(ms);
}

/** A file that does not exist, in a folder that ends with the test. */
export function freshFile(): string {
  const folder = mkdtempSync(join(tmpdir(), "nightshift-engine-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, "mark");
}

export class Rig {
  readonly engine: Engine;
  readonly lines: string[] = [];
  readonly steps: StepStats[] = [];
  /** Of the running process, by the observer. */
  readonly processes: (number | null)[] = [];
  restarts = 0;
  readonly #events = new EventEmitter();

  constructor(path: string, deps: Partial<LocalEngineDeps> = {}) {
    const line = (_: object, message: string) => {
      this.lines.push(message);
      this.#events.emit("line");
    };
    this.engine = startLocalEngine(
      { ...CONFIG, path },
      {
        observer: {
          step: (_, stats) => this.steps.push(stats),
          piece: () => {},
          started: (_, pid) => {
            this.processes.push(pid);
          },
          ended: () => {
            this.processes.pop();
          },
          restarted: () => {
            this.restarts += 1;
          },
        },
        log: { debug: line, info: line, warn: line, error: line },
        entry: new URL("./fake-engine.mjs", import.meta.url),
        restart: FAST_RESTART,
        ...deps,
      },
    );
    onTestFinished(() => this.engine.close());
  }

  /** The running process, which the fake reports as its model's fingerprint. */
  get pid(): number {
    return Number(this.engine.facts?.fingerprint);
  }

  /** Resolves when the fake or the client has logged this line. */
  async logged(text: string): Promise<void> {
    while (!this.lines.includes(text)) await once(this.#events, "line");
  }

  run(text: string, options: Partial<Submission> = {}): Run {
    return new Run(this.engine, { ...PLAIN_SUBMISSION, prompt: { kind: "text", text }, ...options });
  }
}

/** One request and the events of its listener. Like the server's, it may restart only before its first output. */
export class Run implements RequestListener {
  readonly received: string[] = [];
  readonly ticket: Ticket;
  readonly ended: Promise<ApiError | "finished">;
  text = "";
  #open: number;
  #end: (how: ApiError | "finished") => void = () => {};
  readonly #events = new EventEmitter();

  constructor(engine: Engine, submission: Submission) {
    this.#open = submission.n;
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
    this.ticket = engine.submit(submission, this);
  }

  async receives(what: string): Promise<void> {
    while (!this.received.includes(what)) await once(this.#events, "received");
  }

  async failure(): Promise<ApiError> {
    const how = await this.ended;
    if (how === "finished") throw new Error("The request finished");
    return how;
  }

  accepted(): void {
    this.#note("accepted");
  }

  started(index: number): void {
    this.#note(`started ${index}`);
  }

  output(output: SequenceOutput): void {
    this.text += output.text;
    this.#note("output");
    if (output.finish !== null && --this.#open === 0) this.#end("finished");
  }

  failed(error: ApiError): void {
    this.#note("failed");
    this.#end(error);
  }

  mayRestart(): boolean {
    this.#note("mayRestart");
    return !this.received.includes("output");
  }

  #note(what: string): void {
    this.received.push(what);
    this.#events.emit("received");
  }
}
