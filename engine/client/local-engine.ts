import type {
  Demand,
  EmbeddingListener,
  EmbeddingSubmission,
  Engine,
  EngineState,
  RequestListener,
  Submission,
  Ticket,
} from "../engine.ts";
import type { EngineConfig, ModelFacts } from "../protocol/config.ts";
import type { FromEngine } from "../protocol/messages.ts";
import type { OnlineTier } from "../protocol/request.ts";
import type { EngineStatus } from "../protocol/status.ts";
import type { Backlog, Objectives } from "../protocol/step.ts";
import type { TokenAnswer, TokenQuestion } from "../protocol/tokenize.ts";
import { EngineProcess } from "./engine-process.ts";
import { InFlight, messageOf, type Work } from "./in-flight.ts";
import { advance, type Lifecycle, type LifecycleEvent, newLifecycle, retryAfter } from "./lifecycle.ts";
import { DEFAULT_DEPS, type LocalEngineDeps } from "./local-engine-deps.ts";
import { refusedTicket } from "./refused-ticket.ts";
import { engineDied, refusalOf } from "./state-error.ts";
import { logState } from "./state-log.ts";
import { StatusQuery } from "./status-query.ts";
import { TokenizeCalls } from "./tokenize-calls.ts";
import { predictWaitMs } from "./wait-estimate.ts";
import { Waiters } from "./waiters.ts";
import { isLife, Watchdog } from "./watchdog.ts";

/** Starts an engine process for one model and keeps it running; lifecycle.ts says how. */
export function startLocalEngine(config: EngineConfig, deps: LocalEngineDeps): Engine {
  return new LocalEngine(config, deps);
}

class LocalEngine implements Engine {
  readonly model: string;
  readonly #config: EngineConfig;
  readonly #deps: Required<LocalEngineDeps>;
  readonly #inFlight: InFlight;
  readonly #inspection = new StatusQuery(() => this.#process?.send({ type: "inspect" }));
  readonly #questions = new TokenizeCalls(
    (message) => this.#process?.send(message),
    () => ++this.#lastId,
  );
  readonly #watchdog: Watchdog;
  readonly #watch: NodeJS.Timeout;
  #life: Lifecycle;
  #process: EngineProcess | null = null;
  #retry: NodeJS.Timeout | undefined;
  #facts: ModelFacts | null = null;
  #backlog: Backlog | null = null;
  readonly #waiters = new Waiters<ModelFacts>();
  #unloads: (() => void)[] = [];
  /** What is to happen when the process of a failed load is gone. */
  #whenGone: LifecycleEvent | null = null;
  #closing: Promise<void> | null = null;
  #lastId = 0;

  constructor(config: EngineConfig, deps: LocalEngineDeps) {
    this.model = config.model;
    this.#config = config;
    this.#deps = { ...DEFAULT_DEPS, ...deps };
    this.#inFlight = new InFlight({
      finished: () => this.#on({ type: "finished" }),
      broken: (id, error) => {
        this.#deps.log.error(
          { err: error, model: this.model, request: id },
          "A request's listener threw; it is cancelled",
        );
        this.#process?.send({ type: "cancel", id });
      },
    });
    const intervalMs = this.#deps.hangTimeoutMs / 8;
    this.#watchdog = new Watchdog(intervalMs);
    this.#watch = setInterval(() => this.#checkAlive(), intervalMs);
    this.#watch.unref();
    this.#life = newLifecycle(this.#deps.now(), this.#deps.first);
    if (this.#deps.first === "loading") this.#start();
  }

  get state(): EngineState {
    return this.#life.state;
  }

  get facts(): ModelFacts | null {
    return this.#facts;
  }

  get pending(): number {
    return this.#inFlight.size;
  }

  get objectives(): Objectives | null {
    return this.#backlog?.objectives ?? this.#facts?.objectives ?? null;
  }

  predictedWaitMs(tier: OnlineTier, demand: Demand): number {
    if (this.#backlog === null || this.#facts === null) return 0;
    const { sequences, stepTokens } = this.#facts;
    const { batchTax } = this.#config;
    return predictWaitMs(tier, demand, { backlog: this.#backlog, sequences, stepTokens, batchTax });
  }

  submit(submission: Submission, listener: RequestListener): Ticket {
    return this.#take({ type: "submit", request: { ...submission, id: ++this.#lastId }, listener });
  }

  embed(submission: EmbeddingSubmission, listener: EmbeddingListener): Ticket {
    return this.#take({ type: "embed", request: { ...submission, id: ++this.#lastId }, listener });
  }

  #take(work: Work): Ticket {
    const { id } = work.request;
    const refusal = refusalOf(this.model, this.state, this.retryAfterSeconds);
    if (refusal !== null) return refusedTicket(work.listener, refusal);
    // An engine that had nothing to do was silent for good reason until now.
    if (!this.#inFlight.owesMessage) this.#watchdog.heard();
    this.#inFlight.add(work);
    this.#process?.send(messageOf(work));
    return {
      cancel: () => {
        if (this.#inFlight.remove(id)) this.#process?.send({ type: "cancel", id });
      },
    };
  }

  get retryAfterSeconds(): number {
    return retryAfter(this.#life, this.#deps.now());
  }

  ready(signal?: AbortSignal): Promise<ModelFacts> {
    if (this.state.name === "ready" && this.#facts !== null) return Promise.resolve(this.#facts);
    const over = this.#whyOver();
    if (over !== null) return Promise.reject(over);
    return this.#waiters.add(signal);
  }

  inspect(): Promise<EngineStatus | null> {
    return this.state.name === "ready" ? this.#inspection.status() : Promise.resolve(null);
  }

  load(): void {
    if (this.state.name === "failed") this.#again({ type: "load" });
    else this.#on({ type: "load" });
  }

  /** A failed model is loaded by a new process when the old one is gone, and with it what it held of the memory. */
  #again(event: LifecycleEvent): void {
    clearTimeout(this.#retry);
    if (this.#process === null) this.#on(event);
    else this.#whenGone = event;
  }

  unload(): Promise<void> {
    if (this.#inFlight.size + this.#questions.size === 0) this.#on({ type: "unload" });
    if (this.state.name !== "unloading") return Promise.resolve();
    return new Promise((resolve) => this.#unloads.push(resolve));
  }

  async tokenize(question: TokenQuestion, signal: AbortSignal): Promise<TokenAnswer> {
    const refusal = refusalOf(this.model, this.state, this.retryAfterSeconds);
    if (refusal !== null) throw refusal;
    return this.#questions.ask(question, signal);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#on({ type: "close" });
    clearInterval(this.#watch);
    clearTimeout(this.#retry);
    await this.#process?.stop(this.#deps.closeGraceMs);
  }

  #start(): void {
    const { entry, log } = this.#deps;
    const died = (reason: string) => {
      this.#process = null;
      this.#backlog = null;
      this.#inFlight.processEnded();
      this.#deps.observer.ended(this.model);
      this.#inspection.answered(null);
      this.#questions.failAll(engineDied(this.model, this.retryAfterSeconds));
      this.#on({ type: "died", reason });
      const next = this.#whenGone;
      this.#whenGone = null;
      if (next !== null) this.#on(next);
    };
    this.#watchdog.heard();
    try {
      this.#process = new EngineProcess(entry, { type: "start", config: this.#config }, log, {
        message: (message) => this.#receive(message),
        died,
      });
      const { pid } = this.#process;
      log.info({ model: this.model, pid }, "Engine process started");
      this.#deps.observer.started(this.model, pid ?? null);
    } catch (error) {
      // fork() throws where there is no memory for another process.
      const why = error instanceof Error ? error.message : String(error);
      queueMicrotask(() => died(`The engine process could not be started: ${why}`));
    }
  }

  #receive(message: FromEngine): void {
    if (isLife(message, this.#inFlight.owesWork)) this.#watchdog.heard();
    switch (message.type) {
      case "step":
        this.#backlog = message.backlog;
        this.#inFlight.step(message);
        this.#deps.observer.step(this.model, message.stats);
        return;
      case "piece":
        this.#inFlight.piece(message);
        this.#deps.observer.piece(this.model, message.stats);
        return;
      case "accepted":
        this.#inFlight.accepted(message);
        return;
      case "refused":
        this.#inFlight.refused(message);
        return;
      case "cancelled":
        this.#inFlight.cancelled(message.id);
        return;
      case "status":
        this.#inspection.answered(message.status);
        return;
      case "tokenized":
        this.#questions.answered(message);
        return;
      case "loading":
        this.#on({ type: "progress", progress: message.progress });
        return;
      case "ready":
        this.#facts = message.facts;
        for (const warning of message.warnings) this.#deps.log.warn({ model: this.model }, warning);
        this.#on({ type: "ready" });
        return;
      case "fault":
        this.#deps.log.error(
          { model: this.model, stack: message.stack },
          "A request met an unexpected error in the engine",
        );
        return;
      case "measured":
        return;
      case "failed":
        this.#on({ type: "unloadable", reason: message.message });
        // Its exit follows, and is the death that counts where the model was loaded before.
        this.#process?.kill(message.message);
        return;
    }
  }

  /** The one place where the state changes. */
  #on(event: LifecycleEvent): void {
    const before = this.#life.state;
    const { life, effect } = advance(this.#life, event, this.#deps.now(), this.#deps.restart);
    this.#life = life;
    if (before !== life.state) logState(this.#deps.log, this.model, life, this.pending);
    switch (effect) {
      case "start":
      case "load":
        if (effect === "start") this.#deps.observer.restarted(this.model);
        this.#start();
        return;
      case "stop":
        void this.#process?.stop(this.#deps.closeGraceMs);
        return;
      case "gone":
        for (const resolve of this.#unloads.splice(0)) resolve();
        return;
      case "wait":
        this.#inFlight.interrupt(engineDied(this.model, this.retryAfterSeconds));
        this.#waitForRetry();
        return;
      case "resume":
        this.#inFlight.resume((message) => this.#process?.send(message));
        this.#waiters.resolveAll(this.#facts!);
        return;
      case "fail": {
        for (const resolve of this.#unloads.splice(0)) resolve();
        const refusal = refusalOf(this.model, life.state, this.retryAfterSeconds);
        if (refusal !== null) this.#inFlight.failAll(refusal);
        const over = this.#whyOver();
        if (over !== null) this.#waiters.rejectAll(over);
        this.#waitForRetry();
        return;
      }
      case null:
        return;
    }
  }

  #waitForRetry(): void {
    const { state } = this;
    if (state.name === "restarting") this.#retry = setTimeout(() => this.#on({ type: "retry" }), state.retryInMs);
    if (state.name !== "failed" || state.retryInMs === undefined) return;
    this.#retry = setTimeout(() => this.#again({ type: "retry" }), state.retryInMs);
  }

  #checkAlive(): void {
    const serving = this.state.name === "ready";
    let limitMs: number | null = null;
    if (serving && this.#inFlight.owesMessage) limitMs = this.#deps.hangTimeoutMs;
    else if (!serving && this.#process !== null) limitMs = this.#deps.loadTimeoutMs;
    if (!this.#watchdog.tick(limitMs) || limitMs === null) return;
    const doing = serving ? "had requests" : "was loading the model";
    this.#process?.kill(
      `The engine process ${doing} and said nothing for ${Math.round(limitMs / 1000)} seconds; it was killed.`,
    );
  }

  #whyOver(): Error | null {
    const state = this.state;
    if (state.name === "failed") return new Error(state.reason);
    if (state.name === "closed") return new Error(`The engine of '${this.model}' was closed.`);
    return null;
  }
}
