import { randomUUID } from "node:crypto";
import { Registry } from "prom-client";
import { ValidationPool } from "../batch/validation/validation-pool.ts";
import { startLocalEngine } from "../engine/client/local-engine.ts";
import { measureModel } from "../engine/client/measurement.ts";
import type { Clock } from "../platform/clock.ts";
import { version } from "../platform/installation.ts";
import { LiveValue } from "../platform/live-value.ts";
import { openStore } from "../store/store.ts";
import type { Leaves } from "./composition/composition.ts";
import { FIXED_BOUNDS } from "./composition/fixed-bounds.ts";
import { type RunningServer, startServer } from "./composition/server.ts";
import { GrammarCompiler } from "./grammar/grammar-compiler.ts";
import { checkOpenFiles, openFileLimit } from "./http/connection/connection-limit.ts";
import { banner } from "./lifecycle/banner.ts";
import { openLog, type ServerLog } from "./lifecycle/log-output.ts";
import { Parts } from "./lifecycle/parts.ts";
import { Reload } from "./lifecycle/reload.ts";
import { ServiceManager } from "./lifecycle/service-manager.ts";
import { NPM_ECHO_MS, Shutdown } from "./lifecycle/shutdown.ts";
import type { Hangup } from "./lifecycle/sighup.ts";
import { watchMachine } from "./metrics/machine/machine-metrics.ts";
import { collectProcessMetrics } from "./metrics/machine/process-metrics.ts";
import { loadedOf } from "./models/await-models.ts";
import { keysAreOn, ollamaAccess } from "./options/rules.ts";
import type { Options } from "./options/table.ts";
import { unreadVariables } from "./options/variables.ts";

/** Milliseconds beside the grace that engines, webhooks and the store have to close: far more than they take. */
const CLOSING_MS = 20_000;

const clock: Clock = {
  now: () => performance.now(),
  epochMs: () => Date.now(),
};

/**
 * Serves until the process gets a signal to end. `reread` reads the options again, on SIGHUP. Throws OptionsError for faults that
 * the user can correct; ends the process with 1 when no model can be loaded.
 */
export async function serve(first: Options, reread: () => Promise<Options>, hangup: Hangup): Promise<void> {
  // A server outlives the readers of its output.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});
  checkOpenFiles(openFileLimit());
  const serverLog = await openLog({ level: first.logLevel, format: first.logFormat });
  const { logger: log } = serverLog;
  for (const sentence of unreadVariables(process.env)) log.warn({}, sentence);
  const options = new LiveValue(first);
  options.watch(({ logLevel }) => {
    log.level = logLevel;
  });
  const parts = new Parts(log);
  const running = new LiveValue<RunningServer | null>(null);
  const serviceManager = new ServiceManager({ env: process.env, log });
  // Before the first part starts: a signal stops what has started by then.
  const shutdown = beginShutdowns({ options, running, parts, serverLog, serviceManager, hangup });
  const registry = new Registry();
  collectProcessMetrics(registry, serverLog.dropped);
  const server = await parts.run(() => startServer(options, { ...leaves(), log, registry, shutdown }, parts));
  if (server === null) return;
  watchMachine(registry, { dataDir: first.dataDir, now: () => clock.now() });
  running.replace(server);
  takeHangups({ options, server, reread, shutdown, serverLog, hangup });
  const { listening, models, folder, fetched } = server;
  log.info({ url: listening.url, pid: process.pid }, "Listening; the models are loading");
  serviceManager.ready();

  await fetched;
  const ready = await loadedOf(models.list().filter(({ upstream }) => upstream === undefined));
  if (shutdown.begun) return;
  const remote = models
    .list()
    .flatMap(({ engine: { facts }, upstream }) => (upstream !== undefined && facts !== null ? [facts] : []));
  if (ready === null) return shutdown.begin(1);
  const startMs = Math.round(performance.now());
  log.info({ url: listening.url, models: [...ready, ...remote].map(({ model }) => model), startMs }, "Ready");
  const unloaded = models.list().flatMap(({ id, engine }) => (engine.state.name === "unloaded" ? [id] : []));
  const content = {
    url: listening.url,
    ollama: ollamaAccess(first) !== "off",
    version: version(),
    models: [...ready, ...remote],
    onDemand: [...new Set([...unloaded, ...(folder?.names ?? [])])],
    demo: first.model.length === 0 && first.upstream.length === 0,
    keyVariable: keysAreOn(first) ? (first.adminKey === null ? "NIGHTSHIFT_API_KEY" : "NIGHTSHIFT_ADMIN_KEY") : null,
    startMs,
  };
  const command = process.env.npm_lifecycle_event ? "npm start --" : "nightshift";
  process.stdout.write(banner({ ...content, command }));
}

/** The real ones, but for those that belong to one server. */
function leaves(): Omit<Leaves, "log" | "registry" | "shutdown"> {
  return {
    clock,
    random: Math.random,
    // Node draws the randomness of UUIDs ahead, for many at a time.
    randomId: () => randomUUID().replaceAll("-", ""),
    env: process.env,
    version: version(),
    terminal: process.stderr,
    print: (text) => process.stdout.write(text),
    openStore,
    startEngine: startLocalEngine,
    measure: measureModel,
    openGrammars: () => new GrammarCompiler(),
    openValidation: (settings) => new ValidationPool(settings),
    bounds: FIXED_BOUNDS,
  };
}

interface ShutdownParts {
  options: LiveValue<Options>;
  running: LiveValue<RunningServer | null>;
  parts: Parts;
  serverLog: ServerLog;
  serviceManager: ServiceManager;
  hangup: Hangup;
}

/** Signals and errors that nothing caught end the process from now on. */
function beginShutdowns({ options, running, parts, serverLog, serviceManager, hangup }: ShutdownParts): Shutdown {
  const { logger: log, flush, release } = serverLog;
  return new Shutdown(
    {
      log,
      flush,
      exit: (code) => {
        release();
        hangup.exit(code);
      },
      announce: () => {
        serviceManager.stopping();
        running.current?.listening.announceClose();
      },
      // No load balancer sends requests to a server that does not listen yet.
      delayMs: () => (running.current === null ? 0 : options.current.shutdownDelay * 1000),
      limitMs: () => options.current.shutdownGrace * 1000 + CLOSING_MS,
      now: () => clock.now(),
      echoMs: process.env.npm_lifecycle_event === undefined ? 0 : NPM_ECHO_MS,
      drain: () => parts.stop(),
    },
    process,
  );
}

interface HangupParts {
  options: LiveValue<Options>;
  server: RunningServer;
  reread: () => Promise<Options>;
  shutdown: Shutdown;
  serverLog: ServerLog;
  hangup: Hangup;
}

/** SIGHUP reads the options again, looks for new models in the folder and retries models that failed. A closed terminal ends the server. */
function takeHangups({ options, server, reread, shutdown, serverLog, hangup }: HangupParts): void {
  const { logger: log } = serverLog;
  const reload = new Reload(options, { read: reread, log });
  hangup.handle({
    reload: () => {
      void reload.request();
      void server.folder?.retry();
      for (const { engine } of server.models.list()) if (engine.state.name === "failed") engine.load();
    },
    closed: () => {
      log.info({}, "The terminal was closed: shutting down");
      void shutdown.begin(0);
    },
  });
}
