import type { EngineLog } from "./engine-log.ts";
import type { Lifecycle } from "./lifecycle.ts";

/** Tells the log which state an engine has entered. `pending`: requests that it has. */
export function logState(log: EngineLog, model: string, { state, lastLoadMs }: Lifecycle, pending: number): void {
  const about = { model };
  switch (state.name) {
    case "loading":
      log.debug({ ...about, progress: state.progress }, "Loading the model");
      return;
    case "ready":
      log.info({ ...about, loadMs: Math.round(lastLoadMs) }, "The engine is ready");
      return;
    case "restarting":
      log.error({ ...about, ...state, pending }, "The engine died and starts again");
      return;
    case "failed":
      log.error({ ...about, reason: state.reason }, "The engine has failed; restart the server to try again");
      return;
    case "closed":
      log.debug(about, "The engine is closed");
      return;
  }
}
