import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { programUrl } from "../../platform/installation.ts";
import type { Log } from "../../platform/log.ts";
import type { NewLines } from "../../store/types/line-row.ts";
import type { Validation } from "./line-validator.ts";
import { type FromValidation, type ToValidation, type Validate, ValidationLost } from "./validation-job.ts";

export interface ValidationProcessOptions {
  log: Log;
  /** Megabytes of the process's JavaScript heap. */
  heapMb: number;
  /** Milliseconds without a message after which a process with jobs is killed. */
  silenceMs?: number;
  /** The built program. */
  entry?: URL | string;
}

interface Running {
  take: (lines: NewLines) => Promise<void>;
  taken: Promise<void>[];
  resolve: (outcome: Validation) => void;
  reject: (reason: unknown) => void;
}

/** Milliseconds: far more than the slowest line of the greatest length takes. */
const SILENCE_MS = 120_000;
/** Megabytes of the young generation. A small one is collected often, so parsed lines do not add up to hundreds of megabytes. */
const YOUNG_GENERATION_MB = 8;

/**
 * Megabytes of heap that validation needs where a line may have so many bytes: for the longest line, parsed and checked
 * (32 bytes for a byte of text), and for what is kept of the files.
 */
export function heapMbFor(maxLineBytes: number): number {
  return 192 + 32 * Math.ceil(maxLineBytes / 1024 ** 2);
}

/**
 * Validation in a process of its own. Parsing 200 MB delays no stream, and a file that exhausts the heap does not end the
 * server: V8 then ends the whole process, also with resourceLimits of a thread. The first job starts the process, later jobs
 * share it, and the next job after its end starts it again. The jobs of a process that ended reject with ValidationLost.
 */
export class ValidationProcess {
  readonly #options: ValidationProcessOptions;
  readonly #running = new Map<number, Running>();
  #child: ChildProcess | null = null;
  #lastId = 0;
  #silence: NodeJS.Timeout | undefined;

  constructor(options: ValidationProcessOptions) {
    this.#options = options;
  }

  /** Null while no process runs. */
  get pid(): number | null {
    return this.#child?.pid ?? null;
  }

  readonly validate: Validate = async (job, take, signal) => {
    signal.throwIfAborted();
    this.#child ??= this.#start();
    const id = ++this.#lastId;
    let abort = () => {};
    try {
      return await new Promise<Validation>((resolve, reject) => {
        this.#running.set(id, { take, taken: [], resolve, reject });
        abort = () => reject(signal.reason);
        signal.addEventListener("abort", abort, { once: true });
        this.#post({ type: "validate", id, job });
        this.#watch();
      });
    } finally {
      signal.removeEventListener("abort", abort);
      if (this.#running.delete(id)) this.#post({ type: "cancel", id });
      this.#watch();
    }
  };

  /** Ends the process, if one runs; to be called when no job runs. */
  async stop(): Promise<void> {
    const child = this.#child;
    if (child === null) return;
    const gone = once(child, "exit");
    this.#over(child, new Error("The validation process was stopped"));
    child.kill("SIGKILL");
    await gone;
  }

  #start(): ChildProcess {
    const { entry = programUrl("batch/validation/main"), heapMb, log } = this.#options;
    const { NIGHTSHIFT_FAILPOINTS } = process.env;
    const child = fork(entry, [], {
      serialization: "advanced",
      execArgv: [`--max-old-space-size=${heapMb}`, `--max-semi-space-size=${YOUNG_GENERATION_MB}`],
      stdio: ["ignore", "ignore", "ignore", "ipc"],
      // It reads files of clients, and needs no key and no setting.
      env: NIGHTSHIFT_FAILPOINTS === undefined ? {} : { NIGHTSHIFT_FAILPOINTS },
    });
    // The process ends with its channel, unless its event loop is blocked.
    const kill = () => child.kill("SIGKILL");
    process.once("exit", kill);
    let ready = false;
    child.on("message", (message: FromValidation) => {
      if (message.type === "ready") ready = true;
      this.#receive(message);
    });
    child.once("error", (error) => {
      // The event also comes when a signal could not be sent. Only a process that could not be started ends here.
      if (child.pid === undefined) this.#over(child, new Error(`Validation could not be started: ${error.message}`));
    });
    child.once("exit", (code, signal) => {
      process.off("exit", kill);
      if (this.#child !== child) return;
      log.warn(
        { code, signal, jobs: this.#running.size },
        "The validation process ended; the next file starts it again",
      );
      const how = signal === null ? `ended with exit code ${code}` : `was ended by ${signal}`;
      const reason = `The validation process ${how}`;
      this.#over(child, ready ? new ValidationLost(reason) : new Error(`${reason} before it was ready`));
    });
    return child;
  }

  #receive(message: FromValidation): void {
    this.#watch();
    if (!("id" in message)) return;
    const { id } = message;
    const running = this.#running.get(id);
    // The job was given up.
    if (running === undefined) return;
    switch (message.type) {
      case "lines": {
        const taking = running.take(message.lines).then(() => this.#post({ type: "taken", id }));
        taking.catch(running.reject);
        running.taken.push(taking);
        return;
      }
      case "outcome":
        this.#running.delete(id);
        Promise.all(running.taken).then(() => running.resolve(message.outcome), running.reject);
        return;
      case "unreadable":
        running.reject(new Error(message.message));
        return;
      case "broken":
        this.#options.log.error({ where: message.where }, "Validation failed at a file: please report this");
        running.reject(new ValidationLost("The program failed at the file"));
    }
  }

  #post(message: ToValidation): void {
    // A process that is ending accepts no message; its exit event follows.
    if (this.#child?.connected) this.#child.send(message, () => {});
  }

  /** Restarts the timeout for the next message. */
  #watch(): void {
    clearTimeout(this.#silence);
    const child = this.#child;
    if (child === null || this.#running.size === 0) return;
    this.#silence = setTimeout(() => {
      this.#options.log.error({ pid: child.pid }, "The validation process does not answer; it is killed");
      child.kill("SIGKILL");
    }, this.#options.silenceMs ?? SILENCE_MS);
    this.#silence.unref();
  }

  #over(child: ChildProcess, reason: Error): void {
    if (this.#child !== child) return;
    this.#child = null;
    const running = [...this.#running.values()];
    this.#running.clear();
    this.#watch();
    for (const { reject } of running) reject(reason);
  }
}
