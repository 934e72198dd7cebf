import { randomUUID } from "node:crypto";
import { Registry } from "prom-client";
import { codeOf } from "../backup/durable-copy.ts";
import { OwnerErasures } from "../batch/api/owner-erasure.ts";
import { heapMbFor } from "../batch/validation/validation-process.ts";
import { ValidationProcesses } from "../batch/validation/validation-processes.ts";
import { startLocalEngine } from "../engine/client/local-engine.ts";
import { measureModel } from "../engine/client/measurement.ts";
import { KeyRing } from "../ledger/key-ring.ts";
import { MachineTime } from "../ledger/machine-time.ts";
import { OwnerBudgets } from "../ledger/owner-budgets.ts";
import { Prices } from "../ledger/prices.ts";
import { UsageLedger } from "../ledger/usage-ledger.ts";
import { type Clock, epochSeconds } from "../platform/clock.ts";
import { version } from "../platform/installation.ts";
import type { Log } from "../platform/log.ts";
import { OptionsError } from "../platform/options-error.ts";
import { openStore, type Store } from "../store/store.ts";
import { StoreError } from "../store/types/store-error.ts";
import { BudgetWarnings } from "../webhooks/budget-warnings.ts";
import { WebhookDelivery } from "../webhooks/delivery.ts";
import { resolveBySystem } from "../webhooks/destination.ts";
import { WebhookEndpoints } from "../webhooks/endpoint.ts";
import { ModelLoads } from "./admission/model-load.ts";
import { createApp } from "./app.ts";
import { GrammarCompiler } from "./grammar/grammar-compiler.ts";
import { checkOpenFiles, connectionsWithin, openFileLimit } from "./http/connection/connection-limit.ts";
import { inheritedSocket } from "./http/connection/inherited-socket.ts";
import { type Listening, listen, whyNotListening } from "./http/connection/listen.ts";
import { takeOver } from "./lifecycle/apply-reload.ts";
import { banner } from "./lifecycle/banner.ts";
import { buildBatch } from "./lifecycle/build-batch.ts";
import { type ClosingPart, closeInOrder } from "./lifecycle/closing.ts";
import { openLog } from "./lifecycle/log.ts";
import { openStorage } from "./lifecycle/open-storage.ts";
import { appOptions, machinePrice, nightOptions, pricing } from "./lifecycle/options-by-component.ts";
import { Reload } from "./lifecycle/reload.ts";
import { ServiceManager } from "./lifecycle/service-manager.ts";
import { NPM_ECHO_MS, Shutdown } from "./lifecycle/shutdown.ts";
import type { Hangup } from "./lifecycle/sighup.ts";
import { BatchMetrics } from "./metrics/batch-metrics.ts";
import { EngineObserverFanOut } from "./metrics/engine-observer-fan-out.ts";
import { watchEngines } from "./metrics/engine-state-metrics.ts";
import { BudgetMetrics } from "./metrics/limit-metrics.ts";
import { watchMachine } from "./metrics/machine-metrics.ts";
import { MachineTimeMetrics } from "./metrics/machine-time-metrics.ts";
import { Metrics } from "./metrics/metrics.ts";
import { showMachinePrice } from "./metrics/objective-metrics.ts";
import { OnlineUtilization } from "./metrics/online-utilization.ts";
import { collectProcessMetrics } from "./metrics/process-metrics.ts";
import { watchStore } from "./metrics/store-metrics.ts";
import { WebhookMetrics } from "./metrics/webhook-metrics.ts";
import { loadedOf } from "./models/await-models.ts";
import { modelNames } from "./models/model-names.ts";
import { ModelSet } from "./models/model-set.ts";
import { Residency } from "./models/residency.ts";
import { startModels } from "./models/start-models.ts";
import { keysAreOn } from "./options/rules.ts";
import type { Options } from "./options/table.ts";
import { unservedNames } from "./options/unserved.ts";
import { unreadVariables } from "./options/variables.ts";

const WEBHOOK_GRACE_MS = 2000;
/** Beside the grace: what engines, webhooks and the store take to close, and far more. */
const CLOSING_MS = 20_000;

const clock: Clock = {
  now: () => performance.now(),
  epochMs: () => Date.now(),
};

/**
 * Serves until the process is told to end. Listens before the models are loaded, so that /ready can tell how far they
 * are. `reread` reads the options anew, on SIGHUP. Throws OptionsError for what the user can set right; ends the process
 * with 1 when no model can be loaded.
 */
export async function serve(options: Options, reread: () => Promise<Options>, hangup: Hangup): Promise<void> {
  // Whoever read them is gone; the server serves on.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});
  checkOpenFiles(openFileLimit());
  const {
    logger: log,
    flush,
    release,
    dropped,
  } = await openLog({ level: options.logLevel, format: options.logFormat });
  for (const sentence of unreadVariables(process.env)) log.warn({}, sentence);
  const registry = new Registry();
  collectProcessMetrics(registry, dropped);
  const metrics = new Metrics(registry);
  const store = await openOrExplain(options, log);
  watchStore(registry, store);
  watchMachine(registry, { dataDir: options.dataDir, now: () => clock.now() });
  showMachinePrice(registry, machinePrice(options));
  const { files, uploads, time, sweeper } = await orExplain(options, () => openStorage(options, store, log));
  const prices = new Prices(...pricing(options));
  const webhooks = new WebhookEndpoints(options.webhooks);
  const budgetWatch = new BudgetWarnings({
    store,
    endpoints: webhooks,
    eventsQueued: () => delivery.wake(),
    observer: new BudgetMetrics(registry),
    log,
    epochMs: () => time.epochMs(),
  });
  const ledger = new UsageLedger({
    store,
    prices,
    sinks: [metrics, budgetWatch],
    faults: metrics,
    log,
    now: () => epochSeconds(clock),
  });
  const loads = new ModelLoads(() => clock.now());
  const machineTime = new MachineTime({ store, sink: new MachineTimeMetrics(registry), log, clock });
  machineTime.start();
  const load = new OnlineUtilization(() => clock.now());
  const { models, shares, fetched } = await startModels(options, {
    log,
    observer: new EngineObserverFanOut([metrics, machineTime, load, loads]),
    terminal: process.stderr,
    env: process.env,
    created: epochSeconds(clock),
    startEngine: startLocalEngine,
    measure: measureModel,
  });

  for (const sentence of unservedNames(
    options,
    models.map(({ engine }) => engine.model),
  ))
    log.warn({}, sentence);
  const modelSet = new ModelSet(
    models,
    modelNames(
      options,
      models.map(({ id }) => id),
    ),
  );
  const engines = models.map(({ engine }) => engine);
  watchEngines(registry, engines);
  const residency = new Residency({
    engines,
    // Looked up anew: what has to be downloaded is measured later.
    budgetOf: () => shares.budget,
    bytesOf: (model) => shares.bytesOf(model),
    onlineOf: (model) => loads.of(model).waiting + loads.of(model).running,
    keepAliveMs: options.keepAlive === null ? null : options.keepAlive * 1000,
    now: () => clock.now(),
  });
  const keys = new KeyRing({ store, adminKey: options.adminKey, log, now: () => epochSeconds(clock) });
  if (keysAreOn(options)) await orExplain(options, () => tellFirstKey(keys));
  const owners = await OwnerBudgets.open(store);
  // Node draws UUIDs' randomness ahead, for many at a time.
  const randomId = () => randomUUID().replaceAll("-", "");
  const delivery = new WebhookDelivery({
    store: store.outbox,
    endpoints: webhooks,
    allowPrivate: options.webhookAllowPrivate === "on",
    resolve: resolveBySystem,
    clock: time,
    random: Math.random,
    keptSeconds: options.webhookDays * 86_400,
    observer: new WebhookMetrics(registry),
    log,
  });
  const validation = new ValidationProcesses({ log, heapMb: heapMbFor(nightOptions(options).maxLineBytes) });
  const grammars = new GrammarCompiler();
  const { night, batches, jobs } = buildBatch({
    store,
    files,
    ledger,
    keys,
    models: modelSet,
    residency,
    loads,
    metrics,
    grammars,
    batchMetrics: new BatchMetrics(registry),
    load,
    webhooks,
    eventsQueued: () => delivery.wake(),
    validate: validation.validate,
    time,
    log,
    randomId,
    options: nightOptions(options),
  });
  const erasures = new OwnerErasures({
    store,
    batches,
    files,
    uploads,
    revoked: (owner, change) => keys.changeOwner(owner, change),
    erased: (owner) => owners.forget(owner),
    clock: time,
    log,
  });
  residency.start();
  sweeper.start();
  await night.start();
  await erasures.start();
  await budgetWatch.start();
  delivery.wake();

  const serviceManager = new ServiceManager({ env: process.env, log });
  let listening: Listening | null = null;
  const shutdown = new Shutdown(
    {
      log,
      flush,
      exit: (code) => {
        release();
        hangup.exit(code);
      },
      announce: () => {
        serviceManager.stopping();
        listening?.announceClose();
      },
      delayMs: () => reload.options.shutdownDelay * 1000,
      limitMs: () => reload.options.shutdownGrace * 1000 + CLOSING_MS,
      now: () => clock.now(),
      echoMs: process.env.npm_lifecycle_event === undefined ? 0 : NPM_ECHO_MS,
      drain: () => {
        // Beside the streams, not before them: a batch may be writing files of gigabytes.
        const batchWork = night.stop();
        const settled = batchWork.catch(() => {});
        // An engine that ended with batch lines in it would have died of them.
        const closeEngines = () => settled.then(() => Promise.all(models.map(({ engine }) => engine.close())));
        const parts: ClosingPart[] = [
          { name: "residency", close: () => residency.stop() },
          { name: "listener", close: () => listening?.close(reload.options.shutdownGrace * 1000, closeEngines) },
          { name: "batches", close: () => batchWork },
          { name: "validation", close: () => validation.stop() },
          { name: "grammars", close: () => grammars.stop() },
          // Where it never listened.
          { name: "engines", close: closeEngines },
          { name: "erasures", close: () => erasures.stop() },
          { name: "sweeper", close: () => sweeper.stop() },
          { name: "webhooks", close: () => delivery.close(WEBHOOK_GRACE_MS) },
          { name: "ledger", close: () => ledger.flush() },
          { name: "budget warnings", close: () => budgetWatch.stop() },
          { name: "API keys", close: () => keys.close() },
          { name: "machine time", close: () => machineTime.close() },
          { name: "store", close: () => store.close() },
        ];
        return closeInOrder(parts, log);
      },
    },
    process,
  );
  const served = appOptions(options);
  const reload = new Reload(options, {
    read: reread,
    log,
    apply: (next) =>
      takeOver(next, { log, prices, night, batches, terms: nightOptions(next), webhooks, delivery, served }),
  });
  hangup.handle({
    reload: () => {
      void reload.request();
      for (const engine of engines) if (engine.state.name === "failed") engine.load();
    },
    closed: () => {
      log.info({}, "The terminal was closed: shutting down");
      void shutdown.begin(0);
    },
  });
  const app = createApp({
    models: modelSet,
    residency,
    loads,
    onlineShare: (model) => load.of(model),
    metrics,
    grammars,
    store,
    files,
    uploads,
    keys,
    owners,
    erasures,
    batches,
    jobs,
    ledger,
    prices,
    log,
    clock,
    randomId,
    random: Math.random,
    ending: () => shutdown.begun,
    draining: () => shutdown.draining,
    version: version(),
    options: served,
  });
  try {
    const maxConnections = connectionsWithin(openFileLimit(), options.maxConnections);
    if (maxConnections < options.maxConnections) {
      log.warn({ maxConnections }, "Fewer connections than --max-connections: this process may open too few files");
    }
    listening = await listen(app, {
      ...options,
      fd: inheritedSocket(process.env, process.pid),
      maxConnections,
      keepAliveTimeoutMs: options.keepAliveTimeout * 1000,
    });
  } catch (error) {
    await Promise.all(models.map(({ engine }) => engine.close()));
    throw new OptionsError(whyNotListening(error, options));
  }
  log.info({ url: listening.url, pid: process.pid }, "Listening; the models are loading");
  serviceManager.ready();

  await fetched;
  const ready = await loadedOf(models);
  if (shutdown.begun) return;
  if (ready === null) return shutdown.begin(1);
  const startMs = Math.round(performance.now());
  log.info({ url: listening.url, models: ready.map(({ model }) => model), startMs }, "Ready");
  const content = {
    url: listening.url,
    version: version(),
    models: ready,
    onDemand: models.filter(({ engine }) => engine.state.name === "unloaded").map(({ id }) => id),
    demo: options.model.length === 0,
    apiKeys: keysAreOn(options),
    startMs,
  };
  process.stdout.write(
    banner({ ...content, command: process.env.npm_lifecycle_event ? "npm start --" : "nightshift" }),
  );
}

/** Throws OptionsError with the store's own advice: without what it shall keep there is nothing to serve. */
async function openOrExplain({ dataDir }: Options, log: Log): Promise<Store> {
  try {
    return await openStore({ dataDir, log });
  } catch (error) {
    throw error instanceof StoreError ? new OptionsError(error.message) : error;
  }
}

/** Throws OptionsError where the disk refuses what a start has to write, such as a full one the first API key. */
async function orExplain<T>({ dataDir }: Options, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof StoreError) && codeOf(error) === "") throw error;
    throw new OptionsError(`${dataDir} cannot be used: ${(error as Error).message}`);
  }
}

/** Makes the first administrator's key, and prints it where the log does not go. */
async function tellFirstKey(keys: KeyRing): Promise<void> {
  const first = await keys.createFirst();
  if (first === null) return;
  process.stdout.write(`API keys are on, and there was none. This one may do everything; it is shown this once:

  ${first.secret}

`);
}
