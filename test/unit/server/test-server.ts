import { Registry } from "prom-client";
import { LiveValue } from "../../../platform/live-value.ts";
import { FIXED_BOUNDS, type FixedBounds } from "../../../server/composition/fixed-bounds.ts";
import { startServer } from "../../../server/composition/server.ts";
import { Parts } from "../../../server/lifecycle/parts.ts";
import { resolveOptions } from "../../../server/options/read.ts";
import type { Options } from "../../../server/options/table.ts";
import { validateHere } from "../batch/validation/validate-here.ts";
import { freshStore } from "../store/test-store.ts";
import { FakeEngine } from "./fake-engine.ts";
import { GRAMMARS_HERE } from "./grammar/grammars-here.ts";

export interface LogLine {
  level: string;
  fields: object;
  message: string;
}

/** Unix milliseconds of the test server's clock, which stands still. */
const NOW_MS = 1_700_000_001_000;

/** A whole server in the test's own process, on a free port: all of it is real but its leaves. */
export async function startTestServer(
  options: Partial<Options> = {},
  bounds: Partial<FixedBounds> = {},
  /** Called when a leaf of this name is stopped. */
  stopped: (leaf: string) => void = () => {},
) {
  const engine = new FakeEngine();
  const lines: LogLine[] = [];
  const note = (level: string) => (fields: object, message: string) => void lines.push({ level, fields, message });
  const log = { debug: note("debug"), info: note("info"), warn: note("warn"), error: note("error") };
  const shutdown = {
    draining: false,
    get begun() {
      return this.draining;
    },
  };
  let ids = 0;
  const { store, folder, end } = await freshStore();
  const live = new LiveValue<Options>({
    ...resolveOptions({ flags: {}, env: {}, file: null }),
    port: 0,
    dataDir: folder,
    diskReserve: 0,
    prices: { demo: { input: 1, cachedInput: 0.5, output: 2 } },
    ...options,
  });
  const leaves = {
    clock: { now: () => performance.now(), epochMs: () => NOW_MS },
    random: () => 0.5,
    randomId: () => `id${ids++}`,
    env: {},
    log,
    registry: new Registry(),
    version: "0.0.0",
    terminal: { write: () => {} },
    print: () => {},
    openStore: async () => store,
    startEngine: () => engine,
    measure: () => Promise.reject(new Error("one model alone is not measured")),
    openGrammars: () => ({ ...GRAMMARS_HERE, stop: async () => stopped("grammars") }),
    openValidation: () => ({ validate: validateHere, stop: async () => stopped("validation") }),
    shutdown,
    bounds: { ...FIXED_BOUNDS, ...bounds },
  };
  const parts = new Parts(log);
  const server = await parts.run(() => startServer(live, leaves, parts));
  if (server === null) throw new Error("the start was stopped");
  const { port } = server.listening;
  const url = `http://127.0.0.1:${port}`;
  return {
    ...server,
    engine,
    lines,
    options: live,
    /** In the order of their start. */
    parts: parts.names,
    state: shutdown,
    dataDir: folder,
    url,
    port,
    /** Running responses have `graceMs` to end. */
    close: async (graceMs = 0) => {
      live.replace({ ...live.current, shutdownGrace: graceMs / 1000 });
      await parts.stop();
      await end();
    },
    post: (path: string, body: unknown, init: RequestInit = {}) =>
      fetch(url + path, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: typeof body === "string" ? body : JSON.stringify(body),
        ...init,
      }),
  };
}
export type TestServer = Awaited<ReturnType<typeof startTestServer>>;

export const CHAT = { model: "demo", messages: [{ role: "user", content: "hi" }] };
