import { createHash } from "node:crypto";
import { type ApiError, invalidRequest } from "../../openapi/api-error.ts";
import { retryAfterSeconds } from "../../platform/retry-after.ts";
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
import type { ModelFacts } from "../protocol/config.ts";
import type { OnlineTier } from "../protocol/request.ts";
import type { EngineStatus } from "../protocol/status.ts";
import type { Objectives } from "../protocol/step.ts";
import type { TokenAnswer, TokenQuestion } from "../protocol/tokenize.ts";
import { refusedHandle } from "../refused-handle.ts";
import { refusalOf } from "../state-error.ts";
import { Waiters } from "../waiters.ts";
import { featuresOf } from "./dialect/request-body.ts";
import { DEFAULT_CONTEXT } from "./dialect/upstream-config.ts";
import { Embedding } from "./embedding.ts";
import { Generation, type WorkHome } from "./generation.ts";
import { tokenizeAt } from "./tokenize.ts";
import type { UpstreamAccess } from "./upstream-access.ts";

/** One model of an upstream. */
export class UpstreamEngine implements Engine, WorkHome {
  readonly model: string;
  readonly upstreamModel: string;
  readonly access: UpstreamAccess;
  readonly #work = new Set<Ticket>();
  readonly #waiters = new Waiters<ModelFacts>();
  #state: EngineState = { name: "loading", progress: 0 };
  /** Null until the upstream was seen to serve it. */
  #context: number | null = null;

  /** @param model its name at this server */
  constructor(model: string, upstreamModel: string, access: UpstreamAccess) {
    this.model = model;
    this.upstreamModel = upstreamModel;
    this.access = access;
  }

  get state(): EngineState {
    return this.#state;
  }

  get context(): number {
    return this.#context ?? this.access.config.context ?? DEFAULT_CONTEXT;
  }

  get facts(): ModelFacts | null {
    if (this.#context === null) return null;
    const { config, dialect, gate } = this.access;
    return {
      model: this.model,
      description: this.upstreamModel,
      context: this.#context,
      sequences: Math.max(1, gate.places),
      vocabulary: null,
      objectives: this.objectives,
      toolFormat: "",
      takesTools: !dialect.refuses.includes("tools"),
      reasoningTags: null,
      generates: true,
      infill: false,
      // The upstream knows which of its models embed.
      embedding: { pooling: "mean", width: null, context: this.#context },
      fingerprint: `fp_${createHash("sha256").update(`${config.name}\n${this.upstreamModel}`).digest("hex").slice(0, 12)}`,
      local: null,
      upstream: { name: config.name, refuses: dialect.refuses },
    };
  }

  get pending(): number {
    return this.#work.size;
  }

  get objectives(): Objectives {
    const { sloTtftMs, sloItlMs } = this.access.config;
    return { ttftMs: sloTtftMs, itlMs: sloItlMs };
  }

  get retryAfterSeconds(): number {
    const state = this.#state;
    return retryAfterSeconds("retryInMs" in state ? (state.retryInMs ?? 0) : 0);
  }

  predictedWaitMs(tier: OnlineTier, _demand: Demand): number {
    return this.access.predictedWaitMs(tier);
  }

  submit(submission: Submission, listener: RequestListener): Ticket {
    const refusal = this.#refusal() ?? this.#unsupported(submission);
    if (refusal !== null) return refusedHandle(listener, refusal);
    const generation = new Generation(this, submission, listener);
    this.#work.add(generation);
    void generation.run();
    return generation;
  }

  embed(submission: EmbeddingSubmission, listener: EmbeddingListener): Ticket {
    const refusal = this.#refusal();
    if (refusal !== null) return refusedHandle(listener, refusal);
    const embedding = new Embedding(this, submission, listener);
    this.#work.add(embedding);
    void embedding.run();
    return embedding;
  }

  ended(work: Ticket): void {
    this.#work.delete(work);
  }

  ready(signal?: AbortSignal): Promise<ModelFacts> {
    const { facts } = this;
    if (this.#state.name === "ready" && facts !== null) return Promise.resolve(facts);
    const over = this.#whyOver();
    return over === null ? this.#waiters.add(signal) : Promise.reject(over);
  }

  async inspect(): Promise<EngineStatus | null> {
    return null;
  }

  async tokenize(question: TokenQuestion, signal: AbortSignal): Promise<TokenAnswer> {
    const refusal = this.#refusal();
    if (refusal !== null) throw refusal;
    return tokenizeAt(this.access, this.upstreamModel, question, signal);
  }

  /** The upstream serves the model. */
  present(context: number | null): void {
    if (this.#state.name === "closed") return;
    this.#context = context ?? this.access.config.context ?? DEFAULT_CONTEXT;
    this.#state = { name: "ready" };
    this.#waiters.resolveAll(this.facts!);
  }

  /** The upstream does not answer, or serves the model no more; it is asked again in `retryInMs`. */
  absent(reason: string, retryInMs: number): void {
    if (this.#state.name === "closed") return;
    this.#state = { name: "failed", reason, retryInMs, upstream: this.access.config.name };
    this.#waiters.rejectAll(this.#whyOver());
  }

  load(): void {
    // The upstream loads its models.
  }

  async unload(): Promise<void> {
    // As above.
  }

  async close(): Promise<void> {
    this.#state = { name: "closed" };
    this.#waiters.rejectAll(this.#whyOver());
    for (const work of [...this.#work]) work.cancel();
  }

  #refusal(): ApiError | null {
    return refusalOf(this.model, this.#state, this.retryAfterSeconds);
  }

  #unsupported(submission: Submission): ApiError | null {
    const { dialect, config } = this.access;
    const features = featuresOf(submission);
    const feature = dialect.refuses.find((name) => features.has(name));
    if (feature === undefined) return null;
    const message = `The upstream '${config.name}', which computes '${this.model}', does not take ${feature}.`;
    return invalidRequest("upstream_refused", null, message);
  }

  #whyOver(): Error | null {
    if (this.#state.name === "failed") return new Error(this.#state.reason);
    return this.#state.name === "closed" ? new Error(`The engine of '${this.model}' was closed.`) : null;
  }
}
