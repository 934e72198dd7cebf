/** The engine process: speaks engine/protocol/messages.ts over the channel to the server that forked it, and ends with it. */

import { heldLoad } from "../../platform/engine-failpoint.ts";
import type { EngineConfig } from "../protocol/config.ts";
import type { FromEngine, ToEngine } from "../protocol/messages.ts";
import { dispatch } from "./dispatch.ts";
import { load } from "./load.ts";
import type { LoadedModel } from "./loaded-model.ts";
import { measure } from "./measure.ts";

// Ctrl-C and service managers signal the whole group; the server decides when the engine ends.
process.on("SIGINT", () => {});
process.on("SIGTERM", () => {});
// An ordinary exit would wait for the step that computes, and run llama.cpp's destructors while it does.
process.on("disconnect", () => process.kill(process.pid, "SIGKILL"));

let model: Promise<LoadedModel> | null = null;

process.on("message", (message: ToEngine) => {
  handle(message).catch(die);
});

async function handle(message: ToEngine): Promise<void> {
  switch (message.type) {
    case "start": {
      const start = () => load(message.config, post);
      model = heldLoad === null ? start() : heldLoad().then(start);
      return serve(model);
    }
    case "measure":
      await heldLoad?.();
      return postNeeds(message.config);
    default: {
      const loaded = await model;
      if (loaded !== null) await dispatch(message, loaded, post);
    }
  }
}

async function postNeeds(config: EngineConfig): Promise<void> {
  const answer = await measure(config).then(
    (measurement): FromEngine => ({ type: "measured", measurement }),
    (error: unknown): FromEngine => ({ type: "failed", message: reasonOf(error) }),
  );
  process.send?.(answer, () => process.exit(0));
}

async function serve(loading: Promise<LoadedModel>): Promise<void> {
  let loaded: LoadedModel;
  try {
    loaded = await loading;
  } catch (error) {
    process.send?.({ type: "failed", message: reasonOf(error) } satisfies FromEngine, () => process.exit(1));
    return;
  }
  post({ type: "ready", facts: loaded.facts, warnings: [...loaded.warnings] });
  await loaded.run();
}

function post(message: FromEngine): void {
  process.send?.(message);
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** An error of the steps leaves the process in doubt: the server starts a new one and runs requests again that sent no output. */
function die(error: unknown): void {
  console.error(error);
  process.exit(1);
}
