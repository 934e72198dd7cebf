import { createHmac } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { Agent, type Dispatcher } from "undici";
import type { Clock } from "../../platform/clock.ts";
import type { Log } from "../../platform/log.ts";
import type { RequestFeature } from "../protocol/config.ts";
import type { Tier } from "../protocol/request.ts";
import {
  type AnswerClass,
  type Classified,
  classify,
  type Failure,
  type FailureContext,
} from "./answer/answer-class.ts";
import { NO_ERROR } from "./answer/error-body.ts";
import { dialectOf, type UpstreamDialect } from "./dialect/kinds.ts";
import { type PriorityMarks, priorityMarks } from "./dialect/priority.ts";
import type { UpstreamConfig, UpstreamKind } from "./dialect/upstream-config.ts";
import { RateCap } from "./rate/rate-cap.ts";
import type { ReplicaLimits } from "./replica/concurrency-limit.ts";
import { Gate } from "./replica/gate.ts";
import { type HedgeResult, Hedging } from "./replica/hedging.ts";
import { Placement } from "./replica/placement.ts";
import { Replica } from "./replica/replica.ts";
import { RetryBudget } from "./replica/retry-budget.ts";

/** The end of a request at a replica: well, by its client or by its other attempt, for an online request, or by a failure. */
export type Outcome = "ok" | "cancelled" | "preempted" | AnswerClass;

/** Sink of what upstreams do; the server's metrics implement it. */
export interface UpstreamObserver {
  /** A request at a replica has ended. */
  ended(upstream: string, outcome: Outcome): void;
  /** Output tokens of a preempted request are dropped. */
  dropped(upstream: string, tokens: number): void;
  retried(upstream: string, reason: AnswerClass): void;
  /** A request with two attempts at once is over. */
  hedged(upstream: string, result: HedgeResult): void;
  /** An answer's tokens were counted here, as the upstream's counts cannot be right. */
  estimated(upstream: string): void;
}

export interface UpstreamDeps {
  clock: Clock;
  /** In [0, 1). */
  random: () => number;
  randomId: () => string;
  log: Log;
  observer: UpstreamObserver;
  /** The limits with which a replica begins; undefined for the usual ones. */
  firstLimits?: (replica: string) => ReplicaLimits | undefined;
}

/** Everything that requests to one upstream share: its connections, replicas, budget of retries and dialect. */
export class UpstreamAccess {
  readonly config: UpstreamConfig;
  readonly clock: Clock;
  readonly random: () => number;
  readonly dispatcher: Dispatcher;
  readonly replicas: readonly Replica[];
  readonly gate: Gate;
  readonly rate: RateCap;
  readonly retries: RetryBudget;
  /** Null where it is off. */
  readonly hedging: Hedging | null;
  /** Called when a replica does not answer, or has no longer a model that it listed. */
  lookAgain: () => void = () => {};
  /** Sent with every request. */
  readonly headers: Readonly<Record<string, string>>;
  readonly #deps: UpstreamDeps;
  #kind: UpstreamKind;
  #priority: boolean;

  constructor(config: UpstreamConfig, deps: UpstreamDeps) {
    this.config = config;
    this.clock = deps.clock;
    this.random = deps.random;
    this.#deps = deps;
    this.#kind = config.kind ?? "openai";
    this.#priority = config.priority !== "none";
    // The timeouts of an attempt are its own; a pool with requests is never closed by time.
    this.dispatcher = new Agent({ connect: { timeout: config.timeouts.connect }, headersTimeout: 0, bodyTimeout: 0 });
    this.replicas = config.replicas.map(
      ({ url, weight }) => new Replica(url, deps.clock, weight, deps.firstLimits?.(url)),
    );
    this.rate = new RateCap(config.rate, deps.clock);
    this.gate = new Gate(config.name, this.replicas, new Placement(deps.random), this.rate, () => this.#preempts);
    this.retries = new RetryBudget(deps.clock);
    this.hedging = config.hedge ? new Hedging(deps.clock) : null;
    this.headers = config.apiKey === null ? {} : { authorization: `Bearer ${config.apiKey}` };
  }

  get kind(): UpstreamKind {
    return this.#kind;
  }

  /** The kind that its list of models shows, where none is configured. */
  found(kind: UpstreamKind): void {
    if (this.config.kind === null) this.#kind = kind;
  }

  get dialect(): UpstreamDialect {
    return dialectOf(this.#kind);
  }

  /** An engine that is told the tiers, and preempts by them, needs no help. */
  get #preempts(): boolean {
    const { preemption } = this.dialect;
    return preemption === "here" || (preemption === "its own by priority" && !this.#priority);
  }

  marks(tier: Tier): PriorityMarks {
    return priorityMarks(this.#priority ? this.config.priority : "none", tier);
  }

  /** The salt of an owner's prefixes: opaque to the upstream; null where it takes none, or owners share prefixes. */
  salt(owner: string): string | null {
    if (this.config.cacheScope !== "owner" || this.dialect.cacheSalt !== true) return null;
    const key = `${this.config.name}\n${this.config.apiKey ?? ""}`;
    return createHmac("sha256", key).update(owner).digest("base64url");
  }

  callId(): string {
    return `call_${this.#deps.randomId()}`;
  }

  /** Milliseconds until a request that comes now is expected to be sent, as far as the caps of the upstream's rate go. */
  rateWaitMs(tier: Tier, tokens: number): number {
    return tier === "flex" ? this.rate.lowerWaitMs(tokens) : this.rate.onlineWaitMs(tokens);
  }

  /** Milliseconds in a replica's queue: none while no replica reports one. */
  predictedWaitMs(tier: Tier): number {
    const waits = this.replicas.filter(({ healthy }) => healthy).map((replica) => replica.expectedWaitMs);
    const shortest = waits.length === 0 ? 0 : Math.min(...waits);
    return tier === "flex" ? shortest * (1 + this.gate.waiting) : shortest;
  }

  /** Resolves at once when the signal aborts. */
  async pause(ms: number, signal: AbortSignal): Promise<void> {
    try {
      await sleep(ms, undefined, { ref: false, signal });
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  /** The error of a connection has its code as the message. An upstream may repeat the API key that it was sent: its words are kept without. */
  classify(failure: Failure, context: FailureContext): Classified {
    const classified = classify(failure, context, this.clock.epochMs());
    const { apiKey } = this.config;
    if (failure.kind === "network") return { ...classified, error: { ...NO_ERROR, message: failure.code } };
    if (apiKey === null || classified.error === null) return classified;
    const message = classified.error.message.replaceAll(apiKey, "[the API key]");
    return { ...classified, error: { ...classified.error, message } };
  }

  ended(outcome: Exclude<Outcome, AnswerClass>): void {
    this.#deps.observer.ended(this.config.name, outcome);
  }

  dropped(tokens: number): void {
    this.#deps.observer.dropped(this.config.name, tokens);
  }

  retried(reason: AnswerClass): void {
    this.#deps.observer.retried(this.config.name, reason);
  }

  hedged(result: HedgeResult): void {
    this.#deps.observer.hedged(this.config.name, result);
  }

  estimated(): void {
    this.#deps.observer.estimated(this.config.name);
  }

  /** A request at a replica has failed. The text of its error is for the log alone. */
  failed(replica: Replica, { class: name, fault, error }: Classified, content: boolean): void {
    const { log, observer } = this.#deps;
    const reason = error?.message || name;
    observer.ended(this.config.name, name);
    replica.lastError = reason;
    const fields = { upstream: this.config.name, replica: replica.url, class: name, reason, content };
    if (name === "ours" && fault !== "max_tokens") log.error({ ...fields, fault }, "An upstream refuses this server");
    else log.warn(fields, "A request failed at an upstream");
    if (fault === "model" || name === "gone") this.lookAgain();
    if (fault === "priority" && this.#priority) {
      this.#priority = false;
      log.warn({ upstream: this.config.name }, "The upstream takes no priorities; none are sent any more");
    }
  }

  /** The server failed at a request of its own. */
  broken(error: unknown): void {
    this.#deps.log.error({ upstream: this.config.name, err: error }, "A request's listener threw; it fails");
  }

  /** A model's requests with the feature are refused here from now on. */
  refuses(model: string, feature: RequestFeature, remedy: string): void {
    const fields = { upstream: this.config.name, model, feature };
    this.#deps.log.warn(
      fields,
      `The upstream does not take ${feature}; requests with it are refused. To take it, ${remedy}`,
    );
  }

  close(): Promise<void> {
    return this.dispatcher.destroy();
  }
}
