import { ApiError, unavailable } from "../openapi/api-error.ts";
import type { EngineState } from "./engine.ts";
import type { EngineError } from "./protocol/messages.ts";

/** Reason that a new request cannot run now; null when it can. `retryAfter` in seconds. */
export function refusalOf(model: string, state: EngineState, retryAfter: number): ApiError | null {
  switch (state.name) {
    case "ready":
      return null;
    case "loading": {
      const percent = Math.floor(state.progress * 100);
      return unavailable(
        "model_loading",
        `The model '${model}' is loading (${percent} %). Try again soon.`,
        retryAfter,
      );
    }
    case "unloading":
    case "unloaded":
      return unavailable("model_loading", `The model '${model}' is not in memory. Try again soon.`, retryAfter);
    case "restarting":
      return unavailable("engine_restarting", `The engine of '${model}' is restarting. Try again soon.`, retryAfter);
    case "failed":
      if (state.upstream !== undefined) {
        const message = `The upstream '${state.upstream}' does not serve '${model}' now. Try again later.`;
        return unavailable("upstream_unavailable", message, retryAfter);
      }
      return new ApiError(
        "engine_failed",
        `The engine of '${model}' has failed. The server's log says why. ` +
          (state.retryInMs === undefined
            ? "After the cause is removed, send the server SIGHUP, or restart it."
            : "It is tried again by itself."),
        // Without a retry of the engine the error lasts until the operator acts: retries of SDKs would fail.
        { retryAfter, ...(state.retryInMs === undefined && { shouldRetry: false }) },
      );
    case "closed":
      return unavailable("server_shutting_down", "The server is shutting down.", 5);
  }
}

export function engineDied(model: string, retryAfter: number): ApiError {
  return unavailable(
    "engine_died",
    `The engine of '${model}' stopped while it worked on this request, and is being restarted. The request may be retried.`,
    retryAfter,
  );
}

export function apiErrorOf({ code, param, message, excess }: EngineError): ApiError {
  return new ApiError(code, message, { param, excess });
}
