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
import { refusedHandle } from "../refused-handle.ts";
import { refusalOf } from "../state-error.ts";
import { Waiters } from "../waiters.ts";
import { EngineSupervisor } from "./engine-supervisor.ts";
import { InFlight, messageOf, type Work } from "./in-flight.ts";
import { DEFAULT_DEPS, type LocalEngineDeps } from "./local-engine-deps.ts";
import { StatusQuery } from "./status-query.ts";
import { TokenizeCalls } from "./tokenize-calls.ts";
import { predictWaitMs } from "./wait-estimate.ts";
import { isLife } from "./watchdog.ts";

/** Starts an engine process for one model and keeps it running; lifecycle.ts has the states. */
export function startLocalEngine(config: EngineConfig, deps: LocalEngineDeps): Engine {
  return new LocalEngine(config, deps);
}

/** The requests of one model, and the supervised process that computes them. */
class LocalEngine implements Engine {
  readonly model: string;
  readonly #config: EngineConfig;
  readonly #deps: Required<LocalEngineDeps>;
  readonly #inFlight: InFlight;
  readonly #status: StatusQuery;
  readonly #tokenizeCalls: TokenizeCalls;
  readonly #waiters = new Waiters<ModelFacts>();
  readonly #supervisor: EngineSupervisor;
  #facts: ModelFacts | null = null;
  #backlog: Backlog | null = null;
  #lastId = 0;

  constructor(config: EngineConfig, deps: LocalEngineDeps) {
    this.model = config.model;
    this.#config = config;
    this.#deps = { ...DEFAULT_DEPS, ...deps };
    this.#inFlight = new InFlight({
      finished: () => this.#supervisor.finished(),
      broken: (id, error) => this.#broken(id, error),
    });
    this.#status = new StatusQuery(() => this.#supervisor.send({ type: "inspect" }));
    this.#tokenizeCalls = new TokenizeCalls(
      (message) => this.#supervisor.send(message),
      () => ++this.#lastId,
    );
    this.#supervisor = new EngineSupervisor(config, this.#deps, {
      message: (message) => this.#receive(message),
      ended: (error) => {
        this.#backlog = null;
        this.#inFlight.processEnded();
        this.#status.answered(null);
        this.#tokenizeCalls.failAll(error);
      },
      interrupted: (error) => this.#inFlight.interrupt(error),
      ready: () => {
        this.#inFlight.resume((message) => this.#supervisor.send(message));
        this.#waiters.resolveAll(this.#facts!);
      },
      failed: (refusal, reason) => {
        if (refusal !== null) this.#inFlight.failAll(refusal);
        this.#waiters.rejectAll(reason);
      },
      pending: () => this.#inFlight.size,
      messageDue: () => this.#inFlight.messageDue,
    });
  }

  get state(): EngineState {
    return this.#supervisor.state;
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

  get retryAfterSeconds(): number {
    return this.#supervisor.retryAfterSeconds;
  }

  predictedWaitMs(tier: OnlineTier, demand: Demand): number {
    const { sequences = 0, local = null } = this.#facts ?? {};
    if (this.#backlog === null || local === null) return 0;
    const { stepTokens } = local;
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
    if (refusal !== null) return refusedHandle(work.listener, refusal);
    // The silence of an engine without work was no sign of a hang.
    if (!this.#inFlight.messageDue) this.#supervisor.alive();
    this.#inFlight.add(work);
    this.#supervisor.send(messageOf(work));
    return {
      cancel: () => {
        if (this.#inFlight.remove(id)) this.#supervisor.send({ type: "cancel", id });
      },
    };
  }

  ready(signal?: AbortSignal): Promise<ModelFacts> {
    if (this.state.name === "ready" && this.#facts !== null) return Promise.resolve(this.#facts);
    const over = this.#supervisor.whyOver;
    if (over !== null) return Promise.reject(over);
    return this.#waiters.add(signal);
  }

  inspect(): Promise<EngineStatus | null> {
    return this.state.name === "ready" ? this.#status.status() : Promise.resolve(null);
  }

  async tokenize(question: TokenQuestion, signal: AbortSignal): Promise<TokenAnswer> {
    const refusal = refusalOf(this.model, this.state, this.retryAfterSeconds);
    if (refusal !== null) throw refusal;
    return this.#tokenizeCalls.send(question, signal);
  }

  load(): void {
    this.#supervisor.load();
  }

  unload(): Promise<void> {
    const idle = this.#inFlight.size + this.#tokenizeCalls.size === 0;
    return idle ? this.#supervisor.unload() : this.#supervisor.unloaded();
  }

  close(): Promise<void> {
    return this.#supervisor.close();
  }

  #broken(id: number, error: unknown): void {
    this.#deps.log.error({ err: error, model: this.model, request: id }, "A request's listener threw; it is cancelled");
    this.#supervisor.send({ type: "cancel", id });
  }

  #receive(message: FromEngine): void {
    const { log, observer } = this.#deps;
    if (isLife(message, this.#inFlight.workDue)) this.#supervisor.alive();
    switch (message.type) {
      case "step":
        this.#backlog = message.backlog;
        this.#inFlight.step(message);
        observer.step(this.model, message.stats);
        return;
      case "piece":
        this.#inFlight.piece(message);
        observer.piece(this.model, message.stats);
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
        this.#status.answered(message.status);
        return;
      case "tokenized":
        this.#tokenizeCalls.answered(message);
        return;
      case "loading":
        this.#supervisor.progress(message.progress);
        return;
      case "ready":
        this.#facts = message.facts;
        for (const warning of message.warnings) log.warn({ model: this.model }, warning);
        this.#supervisor.ready();
        return;
      case "fault":
        log.error({ model: this.model, stack: message.stack }, "A request met an unexpected error in the engine");
        return;
      case "measured":
        return;
      case "failed":
        this.#supervisor.unloadable(message.message);
        return;
      default:
        message satisfies never;
    }
  }
}
