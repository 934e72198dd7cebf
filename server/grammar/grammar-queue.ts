import { setMaxListeners } from "node:events";
import { type GrammarOutcome, type GrammarSource, keyOf } from "../../grammar/kept-grammars.ts";
import { type ApiError, invalidRequest, unavailable } from "../../openapi/api-error.ts";
import { FairQueue } from "../../platform/fair-queue.ts";
import { GrammarLost } from "./grammar-process.ts";

/** Makes one grammar at a time. Rejects with GrammarLost. */
export interface GrammarMaker {
  make(source: GrammarSource): Promise<GrammarOutcome>;
}

interface Job {
  key: string;
  source: GrammarSource;
  owner: string;
  started: boolean;
  waiters: Set<Waiter>;
}

interface Waiter {
  resolve: (outcome: GrammarOutcome) => void;
  reject: (error: unknown) => void;
}

/** Most grammars that wait. A request has 131 at most: its tools, and the format of its answer. */
const MOST_WAITING = 512;
const MOST_OF_OWNER = MOST_WAITING / 2;
const MOST_WAITING_CHARACTERS = 16 * 1024 * 1024;
/** Attempts for each grammar: a process may end for reasons other than the grammar that it makes. */
const TRIES = 2;
const RETRY_SECONDS = 2;

/** Grammars that wait for a process. Owners share it by a fair queue over time; equal sources are made once. */
export class GrammarQueue {
  readonly #maker: GrammarMaker;
  readonly #now: () => number;
  readonly #fair = new FairQueue();
  readonly #jobs = new Map<string, Job>();
  #characters = 0;
  #busy = false;

  /** @param now milliseconds, monotonic */
  constructor(maker: GrammarMaker, now: () => number) {
    this.#maker = maker;
    this.#now = now;
  }

  /** Rejects with the signal's reason, with a 503 where too many wait, or with a 400 for a grammar that could not be made. */
  make(source: GrammarSource, owner: string, signal: AbortSignal): Promise<GrammarOutcome> {
    return new Promise((resolve, reject) => {
      signal.throwIfAborted();
      // One for each grammar of a request.
      setMaxListeners(0, signal);
      const job = this.#jobs.get(keyOf(source)) ?? this.#added(source, owner);
      const leave = () => {
        job.waiters.delete(waiter);
        if (job.waiters.size === 0 && !job.started) this.#remove(job);
        reject(signal.reason);
      };
      const waiter: Waiter = {
        resolve: (outcome) => {
          signal.removeEventListener("abort", leave);
          resolve(outcome);
        },
        reject: (error) => {
          signal.removeEventListener("abort", leave);
          reject(error);
        },
      };
      job.waiters.add(waiter);
      signal.addEventListener("abort", leave, { once: true });
      void this.#work();
    });
  }

  #added(source: GrammarSource, owner: string): Job {
    const characters = this.#characters + source.text.length;
    const own = [...this.#jobs.values()].filter((job) => job.owner === owner).length;
    if (this.#jobs.size >= MOST_WAITING || own >= MOST_OF_OWNER || characters > MOST_WAITING_CHARACTERS) {
      throw unavailable("server_is_overloaded", "Too many grammars wait to be made.", RETRY_SECONDS);
    }
    const job: Job = { key: keyOf(source), source, owner, started: false, waiters: new Set() };
    this.#characters = characters;
    this.#jobs.set(job.key, job);
    this.#fair.join(owner);
    return job;
  }

  #remove(job: Job): void {
    this.#jobs.delete(job.key);
    this.#characters -= job.source.text.length;
    this.#fair.leave(job.owner);
  }

  async #work(): Promise<void> {
    if (this.#busy) return;
    this.#busy = true;
    for (let job = this.#next(); job !== undefined; job = this.#next()) {
      job.started = true;
      const began = this.#now();
      const settle = await this.#made(job.source);
      this.#fair.charge(job.owner, this.#now() - began);
      this.#remove(job);
      for (const waiter of job.waiters) settle(waiter);
    }
    this.#busy = false;
  }

  #next(): Job | undefined {
    const jobs = [...this.#jobs.values()];
    const owner = this.#fair.least(jobs.map((job) => job.owner));
    return jobs.find((job) => job.owner === owner);
  }

  async #made(source: GrammarSource): Promise<(waiter: Waiter) => void> {
    for (let tries = 1; ; tries++) {
      try {
        const outcome = await this.#maker.make(source);
        return ({ resolve }) => resolve(outcome);
      } catch (error) {
        if (error instanceof GrammarLost && tries < TRIES) continue;
        const reason = error instanceof GrammarLost ? lost(source, error) : error;
        return ({ reject }) => reject(reason);
      }
    }
  }
}

function lost({ kind }: GrammarSource, { message }: GrammarLost): ApiError {
  const what = kind === "tools" ? "tools" : kind === "gbnf" ? "grammar" : "JSON schema";
  const text = `The grammar that the request's ${what} takes could not be made (${message}): it takes too much memory or time.`;
  return invalidRequest("unsupported_value", kind === "tools" ? "tools" : null, text);
}
