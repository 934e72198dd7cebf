import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import type { GrammarOutcome, GrammarSource } from "../../grammar/kept-grammars.ts";
import { programUrl } from "../../platform/installation.ts";

export interface GrammarProcessOptions {
  /** Most megabytes of the process's JavaScript heap. */
  heapMb?: number;
  /** Milliseconds that one grammar may take; then the process is killed. */
  limitMs?: number;
  /** The built program. */
  entry?: URL | string;
}

export interface ToCompiler {
  id: number;
  source: GrammarSource;
}

export interface FromCompiler {
  id: number;
  outcome: GrammarOutcome;
}

/** The process ended before it had made the grammar, or took too long. */
export class GrammarLost extends Error {}

/** Megabytes; the largest grammars take some 150. */
const HEAP_MB = 384;
/** Milliseconds; the slowest known schemas take 2,000 on a busy machine. */
const LIMIT_MS = 20_000;

interface Running {
  id: number;
  resolve: (outcome: GrammarOutcome) => void;
  reject: (error: Error) => void;
}

/**
 * A process that makes grammars, one at a time. It starts with the first one and stays. A schema that takes seconds delays
 * no stream, and a schema that exhausts the heap, or triggers a fault of the program, does not end the server.
 */
export class GrammarProcess {
  readonly #options: GrammarProcessOptions;
  #child: ChildProcess | null = null;
  #running: Running | null = null;
  #lastId = 0;
  #stopped = false;

  constructor(options: GrammarProcessOptions = {}) {
    this.#options = options;
  }

  /** Null while none runs. */
  get pid(): number | null {
    return this.#child?.pid ?? null;
  }

  /** Must not be called while another grammar is being made. Rejects with GrammarLost. */
  async make(source: GrammarSource): Promise<GrammarOutcome> {
    if (this.#stopped) throw new GrammarLost("the server is shutting down");
    this.#child ??= this.#start();
    const child = this.#child;
    const timer = setTimeout(() => child.kill("SIGKILL"), this.#options.limitMs ?? LIMIT_MS);
    try {
      return await new Promise<GrammarOutcome>((resolve, reject) => {
        const id = ++this.#lastId;
        this.#running = { id, resolve, reject };
        // A dying process takes no message; its exit is reported by the event.
        if (child.connected) child.send({ id, source } satisfies ToCompiler, () => {});
      });
    } finally {
      clearTimeout(timer);
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    const child = this.#child;
    if (child === null) return;
    const gone = once(child, "exit");
    child.kill("SIGKILL");
    await gone;
  }

  #start(): ChildProcess {
    const { entry = programUrl("server/grammar/main"), heapMb = HEAP_MB } = this.#options;
    const child = fork(entry, [], {
      serialization: "advanced",
      execArgv: [`--max-old-space-size=${heapMb}`],
      stdio: ["ignore", "ignore", "ignore", "ipc"],
      // It parses input of clients, and needs no key and no option.
      env: {},
    });
    // It ends with its channel, unless it hangs.
    const kill = () => child.kill("SIGKILL");
    process.once("exit", kill);
    child.on("message", ({ id, outcome }: FromCompiler) => {
      if (this.#running?.id === id) this.#running.resolve(outcome);
    });
    const over = (how: string) => {
      process.off("exit", kill);
      if (this.#child !== child) return;
      this.#child = null;
      this.#running?.reject(new GrammarLost(how));
    };
    child.once("error", (error) => {
      // Also emitted when a signal could not be sent; only a process that never started ends here.
      if (child.pid === undefined) over(error.message);
    });
    child.once("exit", (code, signal) => over(signal === null ? `exit code ${code}` : signal));
    return child;
  }
}
