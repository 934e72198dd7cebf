/** The engine process: speaks engine/protocol.ts over the channel to the server that forked it, and ends with it. */
import type { FromEngine, ToEngine } from "../protocol.ts";
import { Engine } from "./engine.ts";

// Ctrl-C and service managers signal the whole group; when the engine ends is for the server to say.
process.on("SIGINT", () => {});
process.on("SIGTERM", () => {});
// An ordinary exit would wait for the step that computes, and run llama.cpp's destructors under its feet.
process.on("disconnect", () => process.kill(process.pid, "SIGKILL"));

type Loaded = Awaited<ReturnType<typeof Engine.load>>;

let engine: Promise<Loaded> | null = null;

process.on("message", (message: ToEngine) => {
  handle(message).catch(die);
});

async function handle(message: ToEngine): Promise<void> {
  if (message.type === "start") {
    engine = Engine.load(message.config, post);
    await serve(engine);
    return;
  }
  const loaded = await engine;
  if (loaded === null) return;
  if (message.type === "submit") await loaded.submit(message.request);
  else if (message.type === "embed") await loaded.embed(message.request);
  else if (message.type === "cancel") loaded.cancel(message.id);
  else post({ type: "status", status: loaded.status });
}

async function serve(loading: Promise<Loaded>): Promise<void> {
  let loaded: Loaded;
  try {
    loaded = await loading;
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    process.send?.({ type: "failed", message } satisfies FromEngine, () => process.exit(1));
    return;
  }
  post({ type: "ready", facts: loaded.facts, warnings: loaded.warnings });
  await loaded.run();
}

function post(message: FromEngine): void {
  process.send?.(message);
}

/** Nothing here can be mended in place: the server starts a fresh process and runs again what nobody has seen. */
function die(error: unknown): void {
  console.error(error);
  process.exit(1);
}
