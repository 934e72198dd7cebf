import type { IncomingHttpHeaders } from "node:http";
import type { Demand, EngineState } from "../../engine/engine.ts";
import type { OnlineTier } from "../../engine/protocol/request.ts";
import { refusalOf } from "../../engine/state-error.ts";
import { type Caller, mayUseModel, mayUseTier } from "../../ledger/key.ts";
import { ApiError, unavailable } from "../../openapi/api-error.ts";
import { checkTier } from "../auth/access-control.ts";
import type { ModelSet, ServedModel } from "../models/model-set.ts";
import type { Residency } from "../models/residency.ts";
import type { AppOptions } from "../options/app-options.ts";
import type { ModelLoad, ModelLoads } from "./model-load.ts";
import { findModel } from "./model-lookup.ts";
import { inSeconds, overload, rateLimited, shuttingDown } from "./overload.ts";
import type { ReadyModel } from "./ready-model.ts";
import { type InFlight, outcomeWithin } from "./start-timeout.ts";

/** Bytes up to which a body is read even while every model refuses: its content may change the answer. */
const SMALL_BODY = 64 * 1024;

export interface AdmissionDeps {
  models: ModelSet;
  residency: Residency;
  loads: ModelLoads;
  /** True once new requests are refused because the server shuts down. */
  draining: () => boolean;
  /** In [0, 1). */
  random: () => number;
  /** The share of time that online work takes of a model's engine, 0 to 1. */
  onlineShare: (model: string) => number;
  options: Pick<AppOptions, "waits">;
}

/** The place of a request in a model's queue. */
export interface QueuePosition {
  tier: OnlineTier;
  owner: string;
}

/** Bounds of a request's wait in milliseconds; null is without bound. */
export interface RequestWaits {
  /** The longest predicted wait at which it is admitted. */
  predictedMs: number | null;
  /** The longest time from its arrival until it starts. */
  startMs: number | null;
}

/** A request at the entry of a model's queue. */
export interface QueueEntry extends QueuePosition {
  /** Requests that it adds to the queue. */
  requests: number;
  maxPredictedWaitMs: number | null;
  /** The predicted wait in milliseconds, where it is not that of a generation. */
  predictedWaitMs?: number;
}

/** A request that was admitted, until it starts. */
export interface QueuedRequest extends QueuePosition {
  /** Milliseconds since its arrival. */
  waitedMs: number;
  /** Milliseconds from its arrival until it must have started; null is without bound. */
  startTimeoutMs: number | null;
}

/** Decides whether a request may enter its model's queue. */
export class Admission {
  readonly #deps: AdmissionDeps;

  constructor(deps: AdmissionDeps) {
    this.#deps = deps;
  }

  /**
   * Throws 503 before a large body is read while no model takes requests of its owner: receiving and parsing it would slow
   * down admitted requests. A request that prefers a job is read, since it may still be deferred.
   */
  refuseUnread(headers: IncomingHttpHeaders, caller: Caller): void {
    const { draining, models } = this.#deps;
    if (Number(headers["content-length"] ?? Number.POSITIVE_INFINITY) <= SMALL_BODY || headers.prefer !== undefined)
      return;
    if (draining()) throw shuttingDown();
    const refusals = models.list().map((model) => this.#refusalOfAny(model, caller));
    const [first] = refusals;
    if (!first || refusals.includes(null)) return;
    // The message names no model: the key may not be allowed all of them, and the requested one is in the unread body.
    const { key, retryAfter, shouldRetry } = first;
    const message = "No model takes requests now; the request's body was not read.";
    throw new ApiError(key, message, { retryAfter, shouldRetry });
  }

  /**
   * Finds the model of a request, checks its tier where it names one, and has the model loaded where it is not in memory.
   * Throws 404 and 403; Overload when as many requests as may wait for the load do so already; and, when the model was not
   * loaded in time, 503 or for flex Overload. `ready` refuses a model that could not be loaded.
   */
  async enter(
    { model: name, tier }: { model: string | null; tier: OnlineTier | null },
    caller: Caller,
    disconnected: AbortSignal,
  ): Promise<ServedModel> {
    const search = name === null ? null : this.#deps.models.search(name);
    if (search !== null) await search;
    const model = findModel(this.#deps.models, name, caller);
    if (tier !== null) checkTier(caller, tier);
    if (!this.#deps.draining() && this.#isOut(model)) await this.#load(model, tier ?? "default", caller, disconnected);
    return model;
  }

  /** Throws 503 with Retry-After while the model's engine takes no requests. */
  ready(model: ServedModel): ReadyModel {
    if (this.#deps.draining()) throw shuttingDown();
    const { state, facts } = model.engine;
    if (state.name !== "ready" || facts === null) throw notReady(model);
    return { model, facts, load: this.#deps.loads.of(model.id) };
  }

  waitBounds(tier: OnlineTier): RequestWaits {
    const { flexWaitMs, queueTimeoutMs } = this.#deps.options.waits.current;
    return { predictedMs: this.#maxWaitMs(tier), startMs: tier === "flex" ? flexWaitMs : queueTimeoutMs };
  }

  /** The wait of a generation that is first in its tier, in milliseconds. */
  predictedWaitMs(model: ServedModel, tier: OnlineTier): number {
    return this.#predict(model, this.#deps.loads.of(model.id), tier, 1);
  }

  /** Throws Overload, with Retry-After, when the queue is full or the predicted wait too long. */
  admit(ready: ReadyModel, entry: QueueEntry): void {
    const { model, load } = ready;
    const { tier, requests, maxPredictedWaitMs, predictedWaitMs = this.#waitMs(ready, entry) } = entry;
    const full = this.#whyFull(model.id, load, entry, requests);
    if (full !== null) throw overload(tier, full, this.#untilCapacityMs(load, tier, requests));
    const rateWaitMs = model.engine.rateWaitMs?.(tier, this.#demand(model, load, 1)) ?? 0;
    if (maxPredictedWaitMs !== null && rateWaitMs > maxPredictedWaitMs) {
      throw rateLimited(tier, model.id, rateWaitMs, maxPredictedWaitMs);
    }
    if (maxPredictedWaitMs !== null && predictedWaitMs > maxPredictedWaitMs) {
      const expected = `A request would wait about ${inSeconds(predictedWaitMs)} for the model '${model.id}'`;
      const excessMs = predictedWaitMs - maxPredictedWaitMs;
      throw overload(tier, `${expected}, longer than ${inSeconds(maxPredictedWaitMs)}.`, this.#spread(excessMs));
    }
    if (tier !== "flex") this.#displaceFlex(ready, requests);
  }

  /** The outcome of a request in the engine, which fails with Overload when it is displaced or does not start in time. */
  async outcomeOf<Outcome>(request: InFlight<Outcome>, ready: ReadyModel, queued: QueuedRequest): Promise<Outcome> {
    if (queued.tier === "flex") {
      const { waitingFlex } = ready.load;
      waitingFlex.add(request);
      request.watch((running) => (running ? waitingFlex.delete(request) : waitingFlex.add(request)));
      void request.outcome.then(() => waitingFlex.delete(request));
    }
    return await outcomeWithin(request, {
      timeoutMs: queued.startTimeoutMs,
      waitedMs: queued.waitedMs,
      error: (timeoutMs) => {
        const message = `The model '${ready.model.id}' had no room for the request in ${inSeconds(timeoutMs)}.`;
        return overload(queued.tier, message, this.#waitMs(ready, queued));
      },
    });
  }

  async #load(model: ServedModel, tier: OnlineTier, caller: Caller, disconnected: AbortSignal): Promise<void> {
    const { id, engine } = model;
    const { draining, residency, options } = this.#deps;
    const waiting = residency.waitingFor(id);
    if (!waiting.takes(caller.owner, 1, options.waits.current.queueLimit)) {
      const message = `${waiting.total} requests wait for the model '${id}' to be loaded.`;
      throw overload(tier, message, engine.retryAfterSeconds * 1000);
    }
    const timeoutMs = this.#maxWaitMs(tier);
    await residency.untilLoaded(id, caller.owner, timeoutMs, disconnected);
    disconnected.throwIfAborted();
    if (timeoutMs === null || !this.#isOut(model) || draining()) return;
    const message = `The model '${id}' was not loaded in ${inSeconds(timeoutMs)}${this.#holdersOfMemory(id, caller)}.`;
    if (tier === "flex") throw overload(tier, message, engine.retryAfterSeconds * 1000);
    throw unavailable("model_loading", message, engine.retryAfterSeconds);
  }

  /** True while the model is not in memory, or leaves it for another one. */
  #isOut({ id, engine }: ServedModel): boolean {
    return loadsOnDemand(engine.state) || this.#deps.residency.drains(id);
  }

  /** The longest wait that a request of the tier may expect: for the engine, and before that for its model to be loaded. */
  #maxWaitMs(tier: OnlineTier): number | null {
    const { flexWaitMs, maxWaitMs } = this.#deps.options.waits.current;
    return tier === "flex" ? flexWaitMs : maxWaitMs;
  }

  /** Names only models that the caller's key may use: the existence of others is not disclosed. */
  #holdersOfMemory(id: string, caller: Caller): string {
    const holders = this.#deps.residency.holdersBeside(id);
    if (holders.length === 0) return "";
    const names = holders.filter((holder) => mayUseModel(caller, holder)).map((holder) => `'${holder}'`);
    const others = names.length < holders.length ? [names.length === 0 ? "another model" : "others"] : [];
    return `: the memory is held by ${[...names, ...others].join(", ")}`;
  }

  /** The last waiting flex requests leave the queue for better tiers, so that it stays within its limit. */
  #displaceFlex({ model, load }: ReadyModel, requests: number): void {
    while (load.waiting + requests > this.#deps.options.waits.current.queueLimit) {
      const last = [...load.waitingFlex].at(-1);
      if (last === undefined) return;
      load.waitingFlex.delete(last);
      const message = `The queue of the model '${model.id}' is full, and a request of a better tier took this one's place.`;
      last.failed(overload("flex", message, this.#untilCapacityMs(load, "flex", 1)));
    }
  }

  /** The time until enough requests have started, spread over the time in which all that wait start. */
  #untilCapacityMs({ ahead, startEveryMs }: ModelLoad, tier: OnlineTier, requests: number): number {
    const { total } = ahead[tier];
    const excess = Math.max(1, total + requests - this.#deps.options.waits.current.queueLimit);
    return startEveryMs * (excess + this.#deps.random() * total);
  }

  /** Spreads the retries of clients that were refused at once. */
  #spread(ms: number): number {
    return ms * (1 + this.#deps.random() / 2);
  }

  /** The predicted wait of a generation of this owner, in milliseconds. */
  #waitMs({ model, load }: ReadyModel, { tier, owner }: QueuePosition): number {
    return this.#predict(model, load, tier, load.waitingSequences[tier].shareAhead(owner));
  }

  #predict(model: ServedModel, load: ModelLoad, tier: OnlineTier, shareAhead: number): number {
    return model.engine.predictedWaitMs(tier, this.#demand(model, load, shareAhead));
  }

  #demand({ engine }: ServedModel, load: ModelLoad, shareAhead: number): Demand {
    return {
      submitted: load.sequences,
      promptTokens: load.promptTokens,
      answerTokens: load.answerTokens,
      shareAhead,
      onlineShare: this.#deps.onlineShare(engine.model),
    };
  }

  /** Counts the requests of better and equal tiers only: waiting requests of a lower tier do not delay this one. */
  #whyFull(id: string, { ahead }: ModelLoad, { tier, owner }: QueuePosition, requests: number): string | null {
    const { queueLimit } = this.#deps.options.waits.current;
    if (ahead[tier].takes(owner, requests, queueLimit)) return null;
    return `The model '${id}' has ${ahead[tier].total} requests waiting, and at most ${queueLimit} may.`;
  }

  /** The refusal of every request of the owner to this model; null while it depends on the request. */
  #refusalOfAny(model: ServedModel, caller: Caller): ApiError | null {
    const { state } = model.engine;
    if (loadsOnDemand(state)) return null;
    if (state.name !== "ready") return notReady(model);
    const load = this.#deps.loads.of(model.id);
    // The tier is in the unread body: priority is assumed for a key that names it.
    const tier = caller.key !== null && mayUseTier(caller, "priority") ? "priority" : "default";
    const full = this.#whyFull(model.id, load, { tier, owner: caller.owner }, 1);
    return full === null ? null : overload(tier, full, this.#untilCapacityMs(load, tier, 1));
  }
}

function notReady({ id, engine: { state, retryAfterSeconds } }: ServedModel): ApiError {
  return (
    refusalOf(id, state, retryAfterSeconds) ??
    unavailable("model_loading", `The model '${id}' is loading.`, retryAfterSeconds)
  );
}

function loadsOnDemand(state: EngineState): boolean {
  if (state.name === "loading") return state.onDemand === true;
  return state.name === "unloaded" || state.name === "unloading";
}
