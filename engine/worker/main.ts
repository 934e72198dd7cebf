/** The engine process: speaks engine/protocol/messages.ts over the channel to the server that forked it, and ends with it. */

import { heldLoad } from "../../platform/engine-failpoint.ts";
import type { EngineConfig } from "../protocol/config.ts";
import type { FromEngine, ToEngine } from "../protocol/messages.ts";
import { GeneratingEngine } from "./generating-engine.ts";
import { measure } from "./measure.ts";
import { guarded } from "./request-fault.ts";

// Ctrl-C and service managers signal the whole group; when the engine ends is for the server to say.
process.on("SIGINT", () => {});
process.on("SIGTERM", () => {});
// An ordinary exit would wait for the step that computes, and run llama.cpp's destructors under its feet.
process.on("disconnect", () => process.kill(process.pid, "SIGKILL"));

type Loaded = Awaited<ReturnType<typeof GeneratingEngine.load>>;

let engine: Promise<Loaded> | null = null;

process.on("message", (message: ToEngine) => {
  handle(message).catch(die);
});

async function handle(message: ToEngine): Promise<void> {
  if (message.type === "start") {
    const load = () => GeneratingEngine.load(message.config, post);
    engine = heldLoad === null ? load() : heldLoad().then(load);
    await serve(engine);
    return;
  }
  if (message.type === "measure") {
    await heldLoad?.();
    return tellNeeds(message.config);
  }
  const loaded = await engine;
  if (loaded === null) return;
  switch (message.type) {
    case "submit":
      return guarded("request", message.request.id, () => loaded.submit(message.request), loaded, post);
    case "embed":
      return guarded("request", message.request.id, () => loaded.embed(message.request), loaded, post);
    case "tokenize":
      return guarded("question", message.id, () => loaded.tokenize(message.id, message.question), loaded, post);
    case "cancel":
      loaded.cancel(message.id);
      return loaded.afterTurn(() => post({ type: "cancelled", id: message.id }));
    case "inspect":
      return post({ type: "status", status: loaded.status });
  }
}

async function tellNeeds(config: EngineConfig): Promise<void> {
  const answer = await measure(config).then(
    (needs): FromEngine => ({ type: "measured", needs }),
    (error: unknown): FromEngine => ({ type: "failed", message: reasonOf(error) }),
  );
  process.send?.(answer, () => process.exit(0));
}

async function serve(loading: Promise<Loaded>): Promise<void> {
  let loaded: Loaded;
  try {
    loaded = await loading;
  } catch (error) {
    process.send?.({ type: "failed", message: reasonOf(error) } satisfies FromEngine, () => process.exit(1));
    return;
  }
  post({ type: "ready", facts: loaded.facts, warnings: loaded.warnings });
  await loaded.run();
}

function post(message: FromEngine): void {
  process.send?.(message);
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Nothing here can be mended in place: the server starts a fresh process and runs again what nobody has seen. */
function die(error: unknown): void {
  console.error(error);
  process.exit(1);
}
