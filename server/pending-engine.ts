import { refusalOf } from "../engine/client/refusal.ts";
import { refusedTicket } from "../engine/client/refused-ticket.ts";
import type { ModelFacts } from "../engine/config.ts";
import type {
  EmbeddingListener,
  EmbeddingSubmission,
  Engine,
  EngineState,
  RequestListener,
  Submission,
  Ticket,
  WorkListener,
} from "../engine/engine.ts";
import type { EngineStatus } from "../engine/protocol/status.ts";
import type { Backlog } from "../engine/protocol/step.ts";
import type { TokenAnswer, TokenQuestion } from "../engine/protocol/tokens.ts";

export interface PendingEngineWork {
  /** Brings the model's file and resolves to its path; reports 0 to 1. Rejects when it cannot, or on abort. */
  fetch(progress: (share: number) => void, signal: AbortSignal): Promise<string>;
  start(path: string): Engine;
}

/** Seconds after which a client may look again while the file is on its way. */
const RETRY_AFTER = 5;

/**
 * An engine whose model file is still being downloaded: loading, with the download's progress, until the file is there;
 * from then on the engine that was started on it.
 */
export class PendingEngine implements Engine {
  readonly model: string;
  #state: EngineState = { name: "loading", progress: 0 };
  #engine: Engine | null = null;
  readonly #abort = new AbortController();
  readonly #started: Promise<Engine>;

  constructor(model: string, work: PendingEngineWork) {
    this.model = model;
    this.#started = this.#run(work);
    // Whoever asks ready() hears of the failure; when nobody does, the state tells it.
    this.#started.catch(() => {});
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

  get backlog(): Backlog | null {
    return this.#engine?.backlog ?? null;
  }

  submit(request: Submission, listener: RequestListener): Ticket {
    return this.#engine === null ? this.#refuse(listener) : this.#engine.submit(request, listener);
  }

  embed(request: EmbeddingSubmission, listener: EmbeddingListener): Ticket {
    return this.#engine === null ? this.#refuse(listener) : this.#engine.embed(request, listener);
  }

  /** Resolves when the download is over, whichever way it ended. */
  get fetched(): Promise<void> {
    return this.#started.then(
      () => {},
      () => {},
    );
  }

  async ready(): Promise<ModelFacts> {
    return (await this.#started).ready();
  }

  async inspect(): Promise<EngineStatus | null> {
    return this.#engine?.inspect() ?? null;
  }

  load(): void {
    this.#engine?.load();
  }

  async unload(): Promise<void> {
    await this.#engine?.unload();
  }

  async tokenize(question: TokenQuestion, signal: AbortSignal): Promise<TokenAnswer> {
    const refusal = refusalOf(this.model, this.state, RETRY_AFTER);
    if (this.#engine === null && refusal !== null) throw refusal;
    return (await this.#started).tokenize(question, signal);
  }

  async close(): Promise<void> {
    if (this.#engine !== null) return this.#engine.close();
    this.#state = { name: "closed" };
    this.#abort.abort();
    await this.fetched;
  }

  #refuse(listener: WorkListener): Ticket {
    const refusal = refusalOf(this.model, this.#state, RETRY_AFTER);
    return refusal === null ? { cancel() {} } : refusedTicket(listener, refusal);
  }

  async #run(work: PendingEngineWork): Promise<Engine> {
    try {
      const path = await work.fetch((progress) => this.#progress(progress), this.#abort.signal);
      this.#abort.signal.throwIfAborted();
      this.#engine = work.start(path);
      return this.#engine;
    } catch (error) {
      if (this.#state.name !== "closed") {
        this.#state = { name: "failed", reason: error instanceof Error ? error.message : String(error) };
      }
      throw error;
    }
  }

  #progress(progress: number): void {
    if (this.#state.name === "loading") this.#state = { name: "loading", progress };
  }
}
