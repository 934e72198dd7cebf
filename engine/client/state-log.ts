import type { Log } from "../../platform/log.ts";
import type { Lifecycle } from "./lifecycle.ts";

/** Logs the new state of an engine. `pending`: its requests in flight. */
export function logState(log: Log, model: string, { state, lastLoadMs }: Lifecycle, pending: number): void {
  switch (state.name) {
    case "loading":
      log.debug({ model, progress: state.progress }, "Loading the model");
      return;
    case "ready":
      log.info({ model, loadMs: Math.round(lastLoadMs) }, "The engine is ready");
      return;
    case "unloading":
      log.info({ model }, "The model is unloaded");
      return;
    case "unloaded":
      log.debug({ model }, "The model's memory is free");
      return;
    case "restarting":
      log.error({ model, ...state, pending }, "The engine died and starts again");
      return;
    case "failed":
      log.error(
        { model, reason: state.reason, retryInMs: state.retryInMs },
        state.retryInMs === undefined
          ? "The engine has failed; SIGHUP has it tried again"
          : "The model could not be loaded; it is tried again",
      );
      return;
    case "closed":
      log.debug({ model }, "The engine is closed");
      return;
  }
}
