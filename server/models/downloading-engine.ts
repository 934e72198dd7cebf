import type {
  Demand,
  EmbeddingListener,
  EmbeddingSubmission,
  Engine,
  EngineState,
  RequestListener,
  Submission,
  Ticket,
  WorkListener,
} from "../../engine/engine.ts";
import type { ModelFacts } from "../../engine/protocol/config.ts";
import type { OnlineTier } from "../../engine/protocol/request.ts";
import type { EngineStatus } from "../../engine/protocol/status.ts";
import type { Objectives } from "../../engine/protocol/step.ts";
import type { TokenAnswer, TokenQuestion } from "../../engine/protocol/tokenize.ts";
import { refusedHandle } from "../../engine/refused-handle.ts";
import { refusalOf } from "../../engine/state-error.ts";
import { Waiters } from "../../engine/waiters.ts";
import { MAX_RETRY_AFTER, remainingMs, retryAfterSeconds } from "../../platform/retry-after.ts";

export interface PendingEngineWork {
  /** Downloads the model's file and resolves with its path; reports progress from 0 to 1. Rejects on failure and abort. */
  fetch(progress: (share: number) => void, signal: AbortSignal): Promise<string>;
  start(path: string): Engine;
  /** True if another try would fail in the same way. */
  isFinal(error: unknown): boolean;
  backoff?: Backoff;
  /** Milliseconds of a clock that never goes back. */
  now?: () => number;
}

/** The pause after a failed try in milliseconds; it doubles with each failure. */
export interface Backoff {
  firstMs: number;
  capMs: number;
}

const BACKOFF: Backoff = { firstMs: 5000, capMs: 300_000 };
/** Milliseconds for Retry-After while no byte of the file has come. */
const USUAL_DOWNLOAD_MS = 5000;

/**
 * An engine whose model file is being downloaded: `loading` with the download's progress until the file is complete, then the
 * engine that was started on it. A failed try is repeated after a backoff, or only by load() if it would fail again.
 */
export class DownloadingEngine implements Engine {
  readonly model: string;
  #state: EngineState = { name: "loading", progress: 0 };
  #engine: Engine | null = null;
  readonly #abort = new AbortController();
  readonly #work: PendingEngineWork;
  readonly #now: () => number;
  readonly #waiters = new Waiters<Engine>();
  #failures = 0;
  /** Start of the current try, or of the next one. */
  #tryAt: number;
  #retry: NodeJS.Timeout | undefined;
  #try: Promise<void>;

  /** Resolves when the first try has ended, with or without success. */
  readonly fetched: Promise<void>;

  constructor(model: string, work: PendingEngineWork) {
    this.model = model;
    this.#work = work;
    this.#now = work.now ?? (() => performance.now());
    this.#tryAt = this.#now();
    this.#try = this.#run();
    this.fetched = this.#try;
  }

  get state(): EngineState {
    return this.#engine?.state ?? this.#state;
  }

  get facts(): ModelFacts | null {
    return this.#engine?.facts ?? null;
  }

  get pending(): number {
    return this.#engine?.pending ?? 0;
  }

  get objectives(): Objectives | null {
    return this.#engine?.objectives ?? null;
  }

  predictedWaitMs(tier: OnlineTier, demand: Demand): number {
    return this.#engine?.predictedWaitMs(tier, demand) ?? 0;
  }

  submit(request: Submission, listener: RequestListener): Ticket {
    return this.#engine === null ? this.#refuse(listener) : this.#engine.submit(request, listener);
  }

  embed(request: EmbeddingSubmission, listener: EmbeddingListener): Ticket {
    return this.#engine === null ? this.#refuse(listener) : this.#engine.embed(request, listener);
  }

  get retryAfterSeconds(): number {
    if (this.#engine !== null) return this.#engine.retryAfterSeconds;
    const state = this.#state;
    if (state.name === "failed" && state.retryInMs === undefined) return MAX_RETRY_AFTER;
    const elapsedMs = this.#now() - this.#tryAt;
    if (state.name === "failed") return retryAfterSeconds(-elapsedMs);
    const left = state.name === "loading" ? remainingMs(elapsedMs, state.progress) : null;
    return retryAfterSeconds(left ?? USUAL_DOWNLOAD_MS);
  }

  async ready(signal?: AbortSignal): Promise<ModelFacts> {
    const over = this.#engine === null ? this.#whyOver() : null;
    if (over !== null) throw over;
    return (this.#engine ?? (await this.#waiters.add(signal))).ready(signal);
  }

  async inspect(): Promise<EngineStatus | null> {
    return this.#engine?.inspect() ?? null;
  }

  load(): void {
    this.#engine?.load();
    if (this.#engine !== null || this.#state.name !== "failed") return;
    clearTimeout(this.#retry);
    this.#state = { name: "loading", progress: 0 };
    this.#tryAt = this.#now();
    this.#try = this.#run();
  }

  async unload(): Promise<void> {
    await this.#engine?.unload();
  }

  async tokenize(question: TokenQuestion, signal: AbortSignal): Promise<TokenAnswer> {
    if (this.#engine !== null) return this.#engine.tokenize(question, signal);
    throw refusalOf(this.model, this.#state, this.retryAfterSeconds);
  }

  async close(): Promise<void> {
    if (this.#engine !== null) return this.#engine.close();
    this.#state = { name: "closed" };
    clearTimeout(this.#retry);
    this.#abort.abort();
    this.#waiters.rejectAll(this.#whyOver());
    await this.#try;
  }

  #refuse(listener: WorkListener): Ticket {
    const refusal = refusalOf(this.model, this.#state, this.retryAfterSeconds);
    return refusal === null ? { cancel() {} } : refusedHandle(listener, refusal);
  }

  async #run(): Promise<void> {
    try {
      const path = await this.#work.fetch((progress) => this.#progress(progress), this.#abort.signal);
      this.#abort.signal.throwIfAborted();
      this.#engine = this.#work.start(path);
      this.#waiters.resolveAll(this.#engine);
    } catch (error) {
      if (this.#state.name !== "closed") this.#failed(error);
    }
  }

  #failed(error: unknown): void {
    const { backoff = BACKOFF, isFinal } = this.#work;
    const reason = error instanceof Error ? error.message : String(error);
    if (isFinal(error)) {
      this.#state = { name: "failed", reason };
    } else {
      const retryInMs = Math.min(backoff.capMs, backoff.firstMs * 2 ** this.#failures);
      this.#failures += 1;
      this.#state = { name: "failed", reason, retryInMs };
      this.#tryAt = this.#now() + retryInMs;
      this.#retry = setTimeout(() => this.load(), retryInMs);
    }
    this.#waiters.rejectAll(this.#whyOver());
  }

  #whyOver(): Error | null {
    if (this.#state.name === "failed") return new Error(this.#state.reason);
    return this.#state.name === "closed" ? new Error(`The engine of '${this.model}' was closed.`) : null;
  }

  #progress(progress: number): void {
    if (this.#state.name === "loading") this.#state = { name: "loading", progress };
  }
}
