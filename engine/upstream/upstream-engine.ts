import { createHash } from "node:crypto";
import type { ApiError } from "../../openapi/api-error.ts";
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
  WorkListener,
} from "../engine.ts";
import type { ModelFacts, RequestFeature, UpstreamFacts } from "../protocol/config.ts";
import type { OnlineTier } from "../protocol/request.ts";
import type { EngineStatus } from "../protocol/status.ts";
import type { Objectives } from "../protocol/step.ts";
import type { TokenAnswer, TokenQuestion } from "../protocol/tokenize.ts";
import { upstreamRefusal } from "../protocol/upstream-refusal.ts";
import { refusedHandle } from "../refused-handle.ts";
import { refusalOf } from "../state-error.ts";
import { Waiters } from "../waiters.ts";
import type { Classified } from "./answer/answer-class.ts";
import { refusedFeature } from "./answer/refused-feature.ts";
import { featuresOf } from "./dialect/request-body.ts";
import { DEFAULT_CONTEXT } from "./dialect/upstream-config.ts";
import { Embedding } from "./embedding.ts";
import { Generation } from "./generation.ts";
import { tokenizeAt } from "./tokenize.ts";
import type { UpstreamAccess } from "./upstream-access.ts";
import { UpstreamWork, type WorkRequest } from "./upstream-work.ts";

/** Milliseconds for which a feature that the upstream refused is refused here: it may have been started anew. */
const REMEMBERED_MS = 600_000;

/** One model of an upstream. */
export class UpstreamEngine implements Engine {
  readonly model: string;
  readonly upstreamModel: string;
  readonly access: UpstreamAccess;
  /** It names the upstream: the ledger has it as the version of the model. */
  readonly #fingerprint: string;
  readonly #work = new Set<UpstreamWork>();
  readonly #waiters = new Waiters<ModelFacts>();
  /** Features that it refused, and the time until which that counts. */
  readonly #refused = new Map<RequestFeature, number>();
  #completionTokens = false;
  #state: EngineState = { name: "loading", progress: 0 };
  /** Null until the upstream was seen to serve it. */
  #context: number | null = null;

  /** @param model its name at this server */
  constructor(model: string, upstreamModel: string, access: UpstreamAccess) {
    this.model = model;
    this.upstreamModel = upstreamModel;
    this.access = access;
    const { name } = access.config;
    const hash = createHash("sha256").update(`${name}\n${upstreamModel}`).digest("hex");
    this.#fingerprint = `fp_${name}_${hash.slice(0, 12)}`;
  }

  get state(): EngineState {
    return this.#state;
  }

  get context(): number {
    return this.#context ?? this.access.config.context ?? DEFAULT_CONTEXT;
  }

  get facts(): ModelFacts | null {
    if (this.#context === null) return null;
    const { gate } = this.access;
    const upstream = this.#upstream;
    return {
      model: this.model,
      description: this.upstreamModel,
      context: this.#context,
      sequences: Math.max(1, gate.places),
      vocabulary: null,
      objectives: this.objectives,
      toolFormat: "",
      takesTools: !upstream.refuses.includes("tools"),
      reasoningTags: null,
      generates: true,
      infill: false,
      // The upstream knows which of its models embed.
      embedding: { pooling: null, width: null, context: this.#context },
      fingerprint: this.#fingerprint,
      local: null,
      upstream,
    };
  }

  get pending(): number {
    return this.#work.size;
  }

  get objectives(): Objectives {
    const { config, replicas } = this.access;
    const ttftMs =
      config.sloTtftMs === "auto" ? Math.max(...replicas.map(({ objectiveMs }) => objectiveMs)) : config.sloTtftMs;
    return { ttftMs, itlMs: config.sloItlMs };
  }

  get retryAfterSeconds(): number {
    const state = this.#state;
    return retryAfterSeconds("retryInMs" in state ? (state.retryInMs ?? 0) : 0);
  }

  predictedWaitMs(tier: OnlineTier, demand: Demand): number {
    return this.access.predictedWaitMs(tier) + this.rateWaitMs(tier, demand);
  }

  rateWaitMs(tier: OnlineTier, { promptTokens, answerTokens }: Demand): number {
    return this.access.rateWaitMs(tier, Math.round(promptTokens + answerTokens));
  }

  submit(submission: Submission, listener: RequestListener): Ticket {
    const refusal = this.#refusal() ?? upstreamRefusal(this.#upstream, featuresOf(submission));
    if (refusal !== null) return refusedHandle(listener, refusal);
    const { access, upstreamModel, context } = this;
    const attemptFailed = (failed: Classified) => this.#learn(submission, failed);
    const completionTokens = () => this.#completionTokens;
    const parts = { access, upstreamModel, context, submission, listener, completionTokens, attemptFailed };
    return this.#start(new Generation(parts), listener);
  }

  embed(submission: EmbeddingSubmission, listener: EmbeddingListener): Ticket {
    const refusal = this.#refusal();
    if (refusal !== null) return refusedHandle(listener, refusal);
    return this.#start(new Embedding(this.access, this.upstreamModel, submission, listener), listener);
  }

  #start(request: WorkRequest, listener: WorkListener): Ticket {
    const work = new UpstreamWork({ access: this.access, request, listener, ended: () => this.#work.delete(work) });
    this.#work.add(work);
    void work.run();
    return work;
  }

  /** Remembers a feature that the upstream refused. */
  #learn(submission: Submission, { class: name, fault, error }: Classified): void {
    if (fault === "max_tokens") this.#completionTokens = true;
    const refused = name === "client" ? refusedFeature(error) : null;
    if (refused === null || !featuresOf(submission).has(refused.feature)) return;
    const { feature, remedy } = refused;
    if (!this.#upstream.refuses.includes(feature)) this.access.refuses(this.model, feature, remedy);
    this.#refused.set(feature, this.access.clock.now() + REMEMBERED_MS);
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
    // It may come back with other settings.
    this.#refused.clear();
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

  get #upstream(): UpstreamFacts {
    const { config, dialect, clock } = this.access;
    const learned = [...this.#refused].flatMap(([feature, until]) => (clock.now() < until ? [feature] : []));
    return { name: config.name, refuses: [...new Set([...dialect.refuses, ...learned])] };
  }

  #refusal(): ApiError | null {
    return refusalOf(this.model, this.#state, this.retryAfterSeconds);
  }

  #whyOver(): Error | null {
    if (this.#state.name === "failed") return new Error(this.#state.reason);
    return this.#state.name === "closed" ? new Error(`The engine of '${this.model}' was closed.`) : null;
  }
}
