import { randomBytes } from "node:crypto";
import { Registry } from "prom-client";
import { shiftRules } from "../batch/shift-rules.ts";
import { validateInThread } from "../batch/validation.ts";
import { startLocalEngine } from "../engine/client/local-engine.ts";
import { measureModel } from "../engine/client/measurement.ts";
import type { ModelFacts } from "../engine/config.ts";
import { KeyRing } from "../ledger/key-ring.ts";
import { OwnerBudgets } from "../ledger/owner-budgets.ts";
import { DEFAULT_PRICES, DEFAULT_TIER_FACTORS, Prices } from "../ledger/prices.ts";
import { UsageLedger } from "../ledger/usage-ledger.ts";
import { DEFAULT_REQUEST_LIMITS } from "../openapi/request-limits.ts";
import { openStore, type Store } from "../store/store.ts";
import { StoreError } from "../store/store-error.ts";
import { WebhookDelivery } from "../webhooks/delivery.ts";
import { resolveBySystem } from "../webhooks/destination.ts";
import { WebhookEndpoints } from "../webhooks/endpoint.ts";
import { createApp } from "./app.ts";
import { type AppOptions, DEFAULT_APP_OPTIONS } from "./app-options.ts";
import { banner } from "./banner.ts";
import { BatchMetrics } from "./batch-metrics.ts";
import { BudgetWatch } from "./budget-watch.ts";
import type { Clock, Log } from "./dependencies.ts";
import { EmbeddingPace } from "./embedding-load.ts";
import { version } from "./installation.ts";
import { type Listening, listen } from "./listen.ts";
import { Loads } from "./load.ts";
import { openLog } from "./log.ts";
import { Metrics } from "./metrics.ts";
import { ModelSet, type ServedModel } from "./model-set.ts";
import { buildNight, NIGHT_TIMES, type NightOptions } from "./night.ts";
import { OnlineLoad } from "./online-load.ts";
import { OptionsError } from "./options/options-error.ts";
import { keysAreOn } from "./options/rules.ts";
import type { Options } from "./options/table.ts";
import { unreadVariables } from "./options/variables.ts";
import { collectProcessMetrics } from "./process-metrics.ts";
import { Residency } from "./residency.ts";
import { openRooms } from "./rooms.ts";
import { Shutdown } from "./shutdown.ts";
import { startModels } from "./start-models.ts";
import { watchStore } from "./store-metrics.ts";
import { WebhookMetrics } from "./webhook-metrics.ts";

const WEBHOOK_GRACE_MS = 2000;

const clock: Clock = {
  now: () => performance.now(),
  epochSeconds: () => Math.floor(Date.now() / 1000),
};

/**
 * Serves until the process is told to end. Listens before the models are loaded, so that /ready can tell how far they
 * are. Throws OptionsError for what the user can set right; ends the process with 1 when no model can be loaded.
 */
export async function serve(options: Options): Promise<void> {
  // Whoever read them is gone; the server serves on.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});
  const { logger: log, flush } = await openLog({ level: options.logLevel, format: options.logFormat });
  for (const sentence of unreadVariables(process.env)) log.warn({}, sentence);
  const registry = new Registry();
  collectProcessMetrics(registry);
  const metrics = new Metrics(registry);
  const store = await openOrExplain(options, log);
  watchStore(registry, store);
  const { files, uploads, time, sweeper } = await openRooms(options, store, log);
  const tierFactors = { ...DEFAULT_TIER_FACTORS, ...options.tierFactors };
  const prices = new Prices({ ...DEFAULT_PRICES, ...options.prices }, tierFactors);
  const webhooks = new WebhookEndpoints(options.webhooks);
  const budgetWatch = new BudgetWatch({
    store,
    endpoints: webhooks,
    eventsQueued: () => delivery.wake(),
    log,
    epochMs: () => time.epochMs(),
  });
  const ledger = new UsageLedger({
    store,
    prices,
    sink: metrics,
    onCharged: (row) => budgetWatch.charged(row),
    log,
    now: clock.epochSeconds,
  });
  const loads = new Loads();
  const load = new OnlineLoad(metrics, clock.now);
  const { models, shares, fetched } = await startModels(options, {
    log,
    observer: new EmbeddingPace(load, loads),
    terminal: process.stderr,
    env: process.env,
    created: clock.epochSeconds(),
    startEngine: startLocalEngine,
    measure: measureModel,
  });

  const modelSet = new ModelSet(models);
  const residency = new Residency({
    engines: models.map(({ engine }) => engine),
    // Looked up anew: what has to be downloaded is measured later.
    budgetOf: () => shares.budget,
    bytesOf: (model) => shares.bytesOf(model),
    onlineOf: (model) => loads.of(model).waiting + loads.of(model).running,
    keepAliveMs: options.keepAlive === null ? null : options.keepAlive * 1000,
    now: clock.now,
  });
  const keys = new KeyRing({ store, adminKey: options.adminKey, log, now: clock.epochSeconds });
  if (keysAreOn(options)) await tellFirstKey(keys);
  const owners = await OwnerBudgets.open(store);
  const randomId = () => randomBytes(16).toString("hex");
  const delivery = new WebhookDelivery({
    store: store.outbox,
    endpoints: webhooks,
    allowPrivate: options.webhookAllowPrivate === "on",
    resolve: resolveBySystem,
    clock: time,
    random: Math.random,
    observer: new WebhookMetrics(registry),
    log,
  });
  const { night, batches, jobs } = buildNight({
    store,
    files,
    ledger,
    keys,
    models: modelSet,
    residency,
    loads,
    metrics,
    batchMetrics: new BatchMetrics(registry),
    load,
    webhooks,
    eventsQueued: () => delivery.wake(),
    validate: validateInThread,
    time,
    log,
    randomId,
    options: nightOptions(options),
  });
  residency.start();
  sweeper.start();
  await night.start();
  await budgetWatch.start();
  delivery.wake();

  let listening: Listening | null = null;
  const shutdown = new Shutdown(
    {
      log,
      flush,
      exit: (code) => process.exit(code),
      drain: async () => {
        residency.stop();
        await night.stop();
        await listening?.close(options.shutdownGrace * 1000);
        await Promise.all(models.map(({ engine }) => engine.close()));
        await sweeper.stop();
        await delivery.close(WEBHOOK_GRACE_MS);
        await ledger.flush();
        await budgetWatch.stop();
        await keys.close();
        await store.close();
      },
    },
    process,
  );
  const app = createApp({
    models: modelSet,
    residency,
    loads,
    onlineShare: (model) => load.of(model),
    metrics,
    store,
    files,
    uploads,
    keys,
    owners,
    batches,
    jobs,
    ledger,
    prices,
    log,
    clock,
    randomId,
    draining: () => shutdown.begun,
    version: version(),
    options: appOptions(options),
  });
  try {
    listening = await listen(app, options);
  } catch (error) {
    await Promise.all(models.map(({ engine }) => engine.close()));
    throw new OptionsError(whyNotListening(error, options));
  }
  log.info({ url: listening.url, pid: process.pid }, "Listening; the models are loading");

  await fetched;
  const ready = await loaded(models);
  if (shutdown.begun) return;
  const failed = models.filter(({ engine }) => engine.state.name === "failed");
  if (failed.length === models.length) {
    process.stderr.write(`No model could be loaded:\n${failed.map(whyFailed).join("\n")}\n`);
    return shutdown.begin(1);
  }
  if (failed.length > 0) {
    process.stderr.write(`Warning: serving without what could not be loaded:\n${failed.map(whyFailed).join("\n")}\n`);
  }
  const startMs = Math.round(performance.now());
  log.info({ url: listening.url, models: ready.map(({ model }) => model), startMs }, "Ready");
  const onDemand = models.filter(({ engine }) => engine.state.name === "unloaded").map(({ id }) => id);
  const content = {
    url: listening.url,
    version: version(),
    models: ready,
    onDemand,
    demo: options.model.length === 0,
    apiKeys: keysAreOn(options),
    startMs,
  };
  process.stdout.write(
    banner({ ...content, command: process.env.npm_lifecycle_event ? "npm start --" : "nightshift" }),
  );
}

/** Throws OptionsError with the store's own advice: it serves no one to start without what it shall keep. */
async function openOrExplain({ dataDir }: Options, log: Log): Promise<Store> {
  try {
    return await openStore({ dataDir, log });
  } catch (error) {
    throw error instanceof StoreError ? new OptionsError(error.message) : error;
  }
}

/** Makes the first administrator's key, and prints it where the log does not go. */
async function tellFirstKey(keys: KeyRing): Promise<void> {
  const first = await keys.createFirst();
  if (first === null) return;
  process.stdout.write(`API keys are on, and nobody had one. This one may do everything; it is shown this once:

  ${first.secret}

`);
}

/** Waits until every model is ready or has failed, but for those that wait to be asked for. */
async function loaded(models: readonly ServedModel[]): Promise<ModelFacts[]> {
  const loading = models.filter(({ engine }) => engine.state.name !== "unloaded");
  const results = await Promise.allSettled(loading.map(({ engine }) => engine.ready()));
  return results.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
}

function whyFailed({ id, engine }: ServedModel): string {
  return `  ${id}: ${engine.state.name === "failed" ? engine.state.reason.replaceAll("\n", "\n    ") : engine.state.name}`;
}

function nightOptions(options: Options): NightOptions {
  return {
    rules: shiftRules(options.shift, Intl.DateTimeFormat().resolvedOptions().timeZone),
    limits: { ...DEFAULT_REQUEST_LIMITS, choices: options.maxN },
    maxLineBytes: options.maxBody,
    lineTimeoutMs: options.batchLineTimeout * 1000,
    windowSeconds: options.batchWindow,
    maxOpen: options.maxOpenBatches,
    ...NIGHT_TIMES,
  };
}

function appOptions(options: Options): AppOptions {
  return {
    ...DEFAULT_APP_OPTIONS,
    host: options.host,
    bodyLimit: options.maxBody,
    queueLimit: options.queueLimit,
    maxWaitMs: options.maxWaitMs === "off" ? null : options.maxWaitMs,
    flexWaitMs: options.flexWaitMs === "off" ? null : options.flexWaitMs,
    itlMs: options.sloItlMs,
    batchTax: options.batchTax,
    limits: { ...DEFAULT_REQUEST_LIMITS, choices: options.maxN },
    allowedHosts: options.allowedHost,
    corsOrigins: options.corsOrigin,
    metricsToken: options.metricsToken,
    apiKeys: keysAreOn(options),
    trustedProxies: options.trustedProxy,
    machinePrice: { onDemand: options.machineUsdPerHour, spot: options.machineSpotUsdPerHour },
  };
}

function whyNotListening(error: unknown, { host, port }: Options): string {
  const code = error instanceof Error && "code" in error ? error.code : null;
  if (code === "EADDRINUSE") {
    return `Port ${port} on ${host} is taken by another process. Choose another: --port ${port + 1} (or --port 0 for any free one).`;
  }
  if (code === "EACCES")
    return `Port ${port} needs more rights than this process has. Choose one from 1024 up with --port.`;
  if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND") return `--host ${host} is no address of this machine.`;
  return `Cannot listen on ${host}, port ${port}: ${error instanceof Error ? error.message : String(error)}`;
}
