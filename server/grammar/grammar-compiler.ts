import { type GrammarOutcome, type GrammarSource, withoutMaking } from "../../grammar/kept-grammars.ts";
import { GrammarProcess, type GrammarProcessOptions } from "./grammar-process.ts";
import { GrammarQueue } from "./grammar-queue.ts";

/** Characters of a short source. Short sources take milliseconds, and do not wait for long ones, which take up to seconds. */
const SHORT_CHARACTERS = 8 * 1024;

export interface Grammars {
  /**
   * The result or the error of a synchronous function that needs grammars. The function runs again once the grammars that
   * it missed are known, so it must have no effects. Rejects also with the signal's reason, and as GrammarQueue.make does.
   */
  run<T>(work: () => T, owner: string, signal: AbortSignal): Promise<T>;
}

/** Has unknown grammars made by two processes: one for short sources, one for long ones. */
export class GrammarCompiler implements Grammars {
  readonly #processes: Record<"short" | "long", GrammarProcess>;
  readonly #queues: Record<"short" | "long", GrammarQueue>;

  constructor(options: GrammarProcessOptions = {}) {
    this.#processes = { short: new GrammarProcess(options), long: new GrammarProcess(options) };
    const now = () => performance.now();
    this.#queues = {
      short: new GrammarQueue(this.#processes.short, now),
      long: new GrammarQueue(this.#processes.long, now),
    };
  }

  async run<T>(work: () => T, owner: string, signal: AbortSignal): Promise<T> {
    const known = new Map<string, GrammarOutcome>();
    for (;;) {
      const { result, missing } = withoutMaking(work, known);
      if (missing.size === 0) return result;
      const made = [...missing].map(async ([key, source]) => {
        known.set(key, await this.#queueOf(source).make(source, owner, signal));
      });
      await Promise.all(made);
    }
  }

  async stop(): Promise<void> {
    await Promise.all([this.#processes.short.stop(), this.#processes.long.stop()]);
  }

  #queueOf({ text }: GrammarSource): GrammarQueue {
    return this.#queues[text.length <= SHORT_CHARACTERS ? "short" : "long"];
  }
}
