import type { IncomingMessage } from "node:http";
import { refusalOf } from "../../engine/client/state-error.ts";
import type { EngineState } from "../../engine/engine.ts";
import type { ModelFacts } from "../../engine/protocol/config.ts";
import type { OnlineTier } from "../../engine/protocol/request.ts";
import { MIN_RETRY_AFTER, retryAfterSeconds } from "../../engine/retry-after.ts";
import { type Caller, mayUseModel, mayUseTier } from "../../ledger/key.ts";
import { ApiError, unavailable } from "../../openapi/api-error.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { ModelSet, ServedModel } from "../models/model-set.ts";
import type { Residency } from "../models/residency.ts";
import type { AppOptions } from "../options/app-options.ts";
import type { Displaceable, ModelLoad, ModelLoads } from "./model-load.ts";

/** A model that takes requests now. */
export interface Place {
  model: ServedModel;
  facts: ModelFacts;
  load: ModelLoad;
}

const MAX_NAME = 256;
/** Bodies up to this size are read whatever becomes of them: what is in them may change the answer. */
const SMALL_BODY = 64 * 1024;

export interface AdmissionDeps {
  models: ModelSet;
  residency: Residency;
  loads: ModelLoads;
  metrics: Metrics;
  draining: () => boolean;
  /** In [0, 1). */
  random: () => number;
  /** The share of time that online work takes of a model's engine, 0 to 1. */
  onlineShare: (model: string) => number;
  options: Pick<AppOptions, "waits">;
}

/** Who asks to be let in, and where they would wait. */
export interface Entrant {
  tier: OnlineTier;
  owner: string;
}

/** Too much is ahead of the request: the one refusal that a client may have turned into a job. */
export class Overload extends ApiError {}

/** Decides whether a request may go to its engine's queue. */
export class Admission {
  readonly #deps: AdmissionDeps;

  constructor(deps: AdmissionDeps) {
    this.#deps = deps;
    for (const model of deps.models.list()) {
      const wait = (tier: OnlineTier) => this.#predict(model, deps.loads.of(model.id), tier, 1);
      deps.metrics.watch(model.id, deps.loads.of(model.id), wait);
    }
  }

  /**
   * Throws 503 before a large body is read while no model takes its owner: to receive and parse it would cost those who are
   * served. What asks to be put off may still be taken, and is read.
   */
  refuseUnread({ headers }: IncomingMessage, caller: Caller): void {
    const { draining, models } = this.#deps;
    if (Number(headers["content-length"] ?? Number.POSITIVE_INFINITY) <= SMALL_BODY || headers.prefer !== undefined)
      return;
    if (draining()) throw shuttingDown();
    const refusals = models.list().map((model) => this.#refusalWhatever(model, caller));
    const [first] = refusals;
    if (!first || refusals.includes(null)) return;
    // The models' names are not for everybody, and whose model it would have been stands in the body.
    const { key, retryAfter, shouldRetry } = first;
    const message = "No model takes requests now; the request's body was not read.";
    throw new ApiError(key, message, { retryAfter, shouldRetry });
  }

  /** Throws 404 for an unknown model, and as if it were one for a model that the caller's key may not use. */
  find(name: string, caller: Caller): ServedModel {
    const model = this.#deps.models.get(name);
    if (model !== undefined && mayUseModel(caller, model.id)) return model;
    const shown = name.length > MAX_NAME ? `${name.slice(0, MAX_NAME)}…` : name;
    throw new ApiError(
      "model_not_found",
      `The model '${shown}' does not exist or you do not have access to it. GET /v1/models lists what you may use.`,
      { param: "model" },
    );
  }

  /**
   * Has a model loaded that is not in memory, or whose turn there is over, and waits for it within the bound of the tier.
   * What comes of it, `place` tells. Throws Overload when as many requests as may wait do so already, and a 503, for flex
   * Overload, after the bound.
   */
  async awake(model: ServedModel, { tier, owner }: Entrant, caller: Caller, signal: AbortSignal): Promise<void> {
    const { id, engine } = model;
    const { draining, residency, options } = this.#deps;
    const outside = () => comesOnDemand(engine.state) || residency.drains(id);
    if (draining() || !outside()) return;
    if (!residency.sleepersOf(id).takes(owner, 1, options.waits.current.queueLimit)) {
      throw overload(
        tier,
        `${residency.sleepersOf(id).total} requests wait for the model '${id}' to be loaded.`,
        engine.retryAfterSeconds * 1000,
      );
    }
    const patienceMs = this.patienceMs(tier);
    await residency.awake(id, owner, patienceMs, signal);
    if (patienceMs === null || !outside() || draining()) return;
    const message = `The model '${id}' was not loaded in ${inSeconds(patienceMs)}${this.#whoHolds(id, caller)}.`;
    if (tier === "flex") throw overload(tier, message, engine.retryAfterSeconds * 1000);
    throw unavailable("model_loading", message, engine.retryAfterSeconds);
  }

  /** Names models that the caller may use alone: the others do not exist for it. */
  #whoHolds(id: string, caller: Caller): string {
    const holders = this.#deps.residency.holdersBeside(id);
    if (holders.length === 0) return "";
    const names = holders.filter((holder) => mayUseModel(caller, holder)).map((holder) => `'${holder}'`);
    const others = names.length < holders.length ? [names.length === 0 ? "another model" : "others"] : [];
    return `: the memory is held by ${[...names, ...others].join(", ")}`;
  }

  /** Throws 503 with Retry-After while the model serves nobody. */
  place(model: ServedModel): Place {
    if (this.#deps.draining()) throw shuttingDown();
    const { state, facts } = model.engine;
    if (state.name !== "ready" || facts === null) throw notReady(model);
    return { model, facts, load: this.#deps.loads.of(model.id) };
  }

  /** How long a request of this tier may be expected to wait, in milliseconds; null is without bound. */
  patienceMs(tier: OnlineTier): number | null {
    return tier === "flex" ? this.#deps.options.waits.current.flexWaitMs : this.#deps.options.waits.current.maxWaitMs;
  }

  /** How long a request of this tier that was let in may wait until it starts, in milliseconds; null is without bound. */
  longestWaitMs(tier: OnlineTier): number | null {
    return tier === "flex"
      ? this.#deps.options.waits.current.flexWaitMs
      : this.#deps.options.waits.current.queueTimeoutMs;
  }

  /** How long one of this owner that comes now is expected to wait, in milliseconds. */
  waitMs({ model, load }: Place, { tier, owner }: Entrant): number {
    return this.#predict(model, load, tier, load.waitingSequences[tier].shareAhead(owner));
  }

  /**
   * Throws Overload, with Retry-After, when `requests` more would be too many, or wait for longer than `patienceMs`.
   * `waitMs` is what they are expected to wait, if that is not what a generation would.
   */
  admit(
    place: Place,
    entrant: Entrant,
    requests: number,
    patienceMs: number | null,
    waitMs = this.waitMs(place, entrant),
  ): void {
    const { model, load } = place;
    const { tier } = entrant;
    const full = this.#whyFull(model.id, load, entrant, requests);
    if (full !== null) throw overload(tier, full, this.#untilRoomMs(load, tier, requests));
    if (patienceMs !== null && waitMs > patienceMs) {
      const expected = `A request would wait about ${inSeconds(waitMs)} for the model '${model.id}'`;
      throw overload(tier, `${expected}, longer than ${inSeconds(patienceMs)}.`, this.#spread(waitMs - patienceMs));
    }
    if (tier !== "flex") this.#displaceFlex(place, requests);
  }

  /** Notes a call that waits: while one of flex does, a better tier that finds the queue full may take its place. */
  waits(
    { load }: Place,
    tier: OnlineTier,
    call: Displaceable & { readonly running: Promise<void>; readonly outcome: Promise<unknown> },
  ): void {
    if (tier !== "flex") return;
    load.waitingFlex.add(call);
    const leave = () => load.waitingFlex.delete(call);
    void call.running.then(leave);
    void call.outcome.then(leave);
  }

  /** The last of flex give their places to better tiers, so that the queue stays within its limit. */
  #displaceFlex({ model, load }: Place, requests: number): void {
    while (load.waiting + requests > this.#deps.options.waits.current.queueLimit) {
      const last = [...load.waitingFlex].at(-1);
      if (last === undefined) return;
      load.waitingFlex.delete(last);
      const message = `The queue of the model '${model.id}' is full, and a request of a better tier took this one's place.`;
      last.failed(overload("flex", message, this.#untilRoomMs(load, "flex", 1)));
    }
  }

  /** When so many requests have started that there is room for these; spread over the time in which all that wait start. */
  #untilRoomMs({ ahead, startEveryMs }: ModelLoad, tier: OnlineTier, requests: number): number {
    const { total } = ahead[tier];
    const tooMany = Math.max(1, total + requests - this.#deps.options.waits.current.queueLimit);
    return startEveryMs * (tooMany + this.#deps.random() * total);
  }

  /** Clients that are refused at once are not to come back at once. */
  #spread(ms: number): number {
    return ms * (1 + this.#deps.random() / 2);
  }

  /** What a request hears that has waited for all of its patience. */
  waitedTooLong(place: Place, entrant: Entrant, patienceMs: number): Overload {
    const message = `The model '${place.model.id}' had no room for the request in ${inSeconds(patienceMs)}.`;
    return overload(entrant.tier, message, this.waitMs(place, entrant));
  }

  #predict({ engine }: ServedModel, load: ModelLoad, tier: OnlineTier, shareAhead: number): number {
    return engine.predictedWaitMs(tier, {
      submitted: load.sequences,
      promptTokens: load.promptTokens,
      answerTokens: load.answerTokens,
      shareAhead,
      onlineShare: this.#deps.onlineShare(engine.model),
    });
  }

  /** Of a tier counts what goes before it: whatever waits of a lower one takes no place from it. */
  #whyFull(id: string, { ahead }: ModelLoad, { tier, owner }: Entrant, requests: number): string | null {
    const { queueLimit } = this.#deps.options.waits.current;
    if (ahead[tier].takes(owner, requests, queueLimit)) return null;
    return `The model '${id}' has ${ahead[tier].total} requests waiting, and at most ${queueLimit} may.`;
  }

  /** What an owner hears who asks for this model now, whatever for; null when it may depend on the request. */
  #refusalWhatever(model: ServedModel, caller: Caller): ApiError | null {
    const { state } = model.engine;
    if (comesOnDemand(state)) return null;
    if (state.name !== "ready") return notReady(model);
    const load = this.#deps.loads.of(model.id);
    // The tier stands in the body: only of a key that names priority is that to be expected.
    const tier = caller.key !== null && mayUseTier(caller, "priority") ? "priority" : "default";
    const full = this.#whyFull(model.id, load, { tier, owner: caller.owner }, 1);
    return full === null ? null : overload(tier, full, this.#untilRoomMs(load, tier, 1));
  }
}

function notReady({ id, engine: { state, retryAfterSeconds } }: ServedModel): ApiError {
  return (
    refusalOf(id, state, retryAfterSeconds) ??
    unavailable("model_loading", `The model '${id}' is loading.`, retryAfterSeconds)
  );
}

function comesOnDemand(state: EngineState): boolean {
  if (state.name === "loading") return state.onDemand === true;
  return state.name === "unloaded" || state.name === "unloading";
}

/** Flex bought patience, and pays nothing when it runs out: 429. Who bought a promptness that is not to be had gets 503. */
function overload(tier: OnlineTier, message: string, retryInMs: number): Overload {
  const retryAfter = retryAfterSeconds(retryInMs);
  if (tier === "flex") {
    const advice = "It was not charged. Try again later, or with service_tier default.";
    const code = "resource_unavailable";
    return new Overload(code, `${message} ${advice}`, { retryAfter });
  }
  return new Overload("server_is_overloaded", message, { retryAfter });
}

function shuttingDown(): ApiError {
  return unavailable("server_shutting_down", "The server is shutting down.", MIN_RETRY_AFTER);
}

function inSeconds(ms: number): string {
  return `${ms < 10_000 ? (ms / 1000).toFixed(1) : Math.round(ms / 1000)} s`;
}
