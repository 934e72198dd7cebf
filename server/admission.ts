import type { EngineState } from "../engine/engine.ts";
import type { ModelFacts } from "../engine/protocol.ts";
import { ApiError, unavailable } from "../openapi/api-error.ts";
import type { Clock } from "./dependencies.ts";
import type { Load, Loads } from "./load.ts";
import type { Metrics } from "./metrics.ts";
import type { ModelSet, ServedModel } from "./model-set.ts";

/** A model that takes requests now. */
export interface Place {
  model: ServedModel;
  facts: ModelFacts;
  load: Load;
}

/** Bounds of Retry-After in seconds; OpenAI's clients obey it up to 60. */
const MIN_RETRY = 1;
const MAX_RETRY = 60;
/** Seconds that a load is taken to last until its progress tells more. */
const USUAL_LOAD = 5;
const MAX_NAME = 256;

/** Decides whether a request may go to its engine's queue. */
export class Admission {
  readonly #models: ModelSet;
  readonly #queueLimit: number;
  readonly #clock: Clock;
  readonly #draining: () => boolean;
  readonly #startedAt: number;
  readonly #loads: Loads;

  constructor(
    models: ModelSet,
    loads: Loads,
    metrics: Metrics,
    queueLimit: number,
    clock: Clock,
    draining: () => boolean,
  ) {
    this.#models = models;
    this.#loads = loads;
    this.#queueLimit = queueLimit;
    this.#clock = clock;
    this.#draining = draining;
    this.#startedAt = clock.now();
    for (const { id } of models.list()) metrics.watch(id, loads.of(id));
  }

  /** Throws 404 for an unknown model. */
  find(name: string): ServedModel {
    const model = this.#models.get(name);
    if (model !== undefined) return model;
    const shown = name.length > MAX_NAME ? `${name.slice(0, MAX_NAME)}…` : name;
    throw new ApiError({
      status: 404,
      type: "invalid_request_error",
      code: "model_not_found",
      param: "model",
      message: `The model '${shown}' does not exist or you do not have access to it.`,
    });
  }

  /** Throws 503 with Retry-After when `requests` more can't wait at this model. */
  admit(model: ServedModel, requests: number): Place {
    if (this.#draining()) throw unavailable("server_shutting_down", "The server is shutting down.", MIN_RETRY);
    const { state, facts } = model.engine;
    if (state.name !== "ready" || facts === null) throw this.#notReady(model.id, state);
    const load = this.#loads.of(model.id);
    // A call with many prompts may go over the limit at an empty queue: waiting would never make it fit.
    if (load.waiting > 0 && load.waiting + requests > this.#queueLimit) {
      const message = `The model '${model.id}' has ${load.waiting} requests waiting, and at most ${this.#queueLimit} may.`;
      throw unavailable("server_is_overloaded", message, seconds(load.expectedWaitMs));
    }
    return { model, facts, load };
  }

  #notReady(id: string, state: EngineState): ApiError {
    switch (state.name) {
      case "loading": {
        const elapsed = this.#clock.now() - this.#startedAt;
        const left = state.progress > 0 ? (elapsed * (1 - state.progress)) / state.progress : USUAL_LOAD * 1000;
        const message = `The model '${id}' is loading (${Math.round(state.progress * 100)} %).`;
        return unavailable("model_not_ready", message, seconds(left));
      }
      case "restarting":
        return unavailable(
          "model_not_ready",
          `The model '${id}' is restarting: ${state.reason}`,
          seconds(state.retryInMs),
        );
      case "failed":
        // It does not come back by itself: the SDK's own retries would only make its user wait.
        return new ApiError({
          status: 503,
          type: "server_error",
          code: "model_failed",
          message: `The model '${id}' can't be served: ${state.reason}`,
          retryAfter: MAX_RETRY,
          shouldRetry: false,
        });
      default:
        return unavailable("model_not_ready", `The model '${id}' is not being served.`, USUAL_LOAD);
    }
  }
}

function seconds(ms: number): number {
  return Math.min(MAX_RETRY, Math.max(MIN_RETRY, Math.ceil(ms / 1000)));
}
