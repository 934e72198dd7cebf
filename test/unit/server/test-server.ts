import { Registry } from "prom-client";
import { OwnerErasures } from "../../../batch/api/owner-erasure.ts";
import { DEFAULT_SHIFT, shiftRules } from "../../../batch/shift/shift-rules.ts";
import { KeyRing } from "../../../ledger/key-ring.ts";
import { OwnerBudgets } from "../../../ledger/owner-budgets.ts";
import { DEFAULT_TIER_FACTORS, Prices } from "../../../ledger/prices.ts";
import { UsageLedger } from "../../../ledger/usage-ledger.ts";
import { ModelLoads } from "../../../server/admission/model-load.ts";
import { createApp } from "../../../server/app.ts";
import { type ListenOptions, listen } from "../../../server/http/connection/listen.ts";
import { BATCH_TIMES, buildBatch } from "../../../server/lifecycle/build-batch.ts";
import { openStorage } from "../../../server/lifecycle/open-storage.ts";
import { BatchMetrics } from "../../../server/metrics/batch-metrics.ts";
import { Metrics } from "../../../server/metrics/metrics.ts";
import { OnlineUtilization } from "../../../server/metrics/online-utilization.ts";
import { ModelSet } from "../../../server/models/model-set.ts";
import { Residency } from "../../../server/models/residency.ts";
import { type AppOptions, DEFAULT_APP_OPTIONS } from "../../../server/options/app-options.ts";
import { WebhookEndpoints } from "../../../webhooks/endpoint.ts";
import { validateHere } from "../batch/validation/validate-here.ts";
import { freshStore } from "../store/test-store.ts";
import { FakeEngine } from "./fake-engine.ts";
import { GRAMMARS_HERE } from "./grammar/grammars-here.ts";

const KEPT = { ledgerDays: null, batchDays: null, fileDays: null, keyDays: null };

export interface LogLine {
  level: string;
  fields: object;
  message: string;
}

/** The real app on a free port, with a fake engine below it. */
export async function startTestServer(
  options: Partial<AppOptions> = {},
  listening: Partial<ListenOptions> = {},
  adminKey: string | null = null,
) {
  const engine = new FakeEngine();
  const metrics = new Metrics(new Registry());
  const lines: LogLine[] = [];
  const note = (level: string) => (fields: object, message: string) => void lines.push({ level, fields, message });
  const state = { draining: false };
  let ids = 0;
  const { store, folder, end } = await freshStore();
  const log = { debug: note("debug"), info: note("info"), warn: note("warn"), error: note("error") };
  const prices = new Prices({ demo: { input: 1, cachedInput: 0.5, output: 2 } }, DEFAULT_TIER_FACTORS);
  const ledger = new UsageLedger({ store, prices, sinks: [metrics], faults: metrics, log, now: () => 1_700_000_001 });
  const rooms = await openStorage(
    { ...KEPT, dataDir: folder, diskReserve: 0, storageQuota: null, maxFiles: 10_000 },
    store,
    log,
  );
  const models = new ModelSet([{ id: "demo", engine, created: 1_700_000_000 }]);
  const loads = new ModelLoads(() => performance.now());
  const residency = new Residency({
    engines: [engine],
    budgetOf: () => Number.POSITIVE_INFINITY,
    bytesOf: () => 1,
    onlineOf: () => 0,
    keepAliveMs: null,
    now: () => performance.now(),
  });
  const keys = new KeyRing({ store, adminKey, log, now: () => 1_700_000_001 });
  const owners = await OwnerBudgets.open(store);
  const randomId = () => `id${ids++}`;
  const appOptions = { ...DEFAULT_APP_OPTIONS, ...options };
  const { night, batches, jobs } = buildBatch({
    eventsQueued: () => {},
    ...rooms,
    store,
    ledger,
    keys,
    models,
    residency,
    loads,
    metrics,
    grammars: GRAMMARS_HERE,
    batchMetrics: new BatchMetrics(metrics.registry),
    load: new OnlineUtilization(() => performance.now()),
    webhooks: new WebhookEndpoints([]),
    validate: validateHere,
    log,
    randomId,
    options: {
      rules: shiftRules(DEFAULT_SHIFT, "UTC"),
      limits: appOptions.limits,
      maxLineBytes: appOptions.bodyLimit,
      lineTimeoutMs: 60_000,
      windowSeconds: 86_400,
      maxOpen: 500,
      ...BATCH_TIMES,
    },
  });
  const erasures = new OwnerErasures({
    store,
    batches,
    files: rooms.files,
    uploads: rooms.uploads,
    revoked: (owner, change) => keys.changeOwner(owner, change),
    erased: (owner) => owners.forget(owner),
    clock: rooms.time,
    log,
  });
  const app = createApp({
    models,
    residency,
    loads,
    onlineShare: () => 0,
    metrics,
    grammars: GRAMMARS_HERE,
    store,
    files: rooms.files,
    uploads: rooms.uploads,
    keys,
    owners,
    erasures,
    batches,
    jobs,
    ledger,
    prices,
    log,
    clock: { now: () => performance.now(), epochMs: () => 1_700_000_001_000 },
    randomId,
    random: () => 0.5,
    ending: () => state.draining,
    draining: () => state.draining,
    version: "0.0.0",
    options: appOptions,
  });
  const server = await listen(app, { host: "127.0.0.1", port: 0, ...listening });
  return {
    app,
    engine,
    metrics,
    store,
    night,
    ledger,
    keys,
    lines,
    state,
    dataDir: folder,
    url: server.url,
    port: server.port,
    close: async (graceMs = 0) => {
      await night.stop();
      await server.close(graceMs);
      await ledger.flush();
      await keys.close();
      await end();
    },
    post: (path: string, body: unknown, init: RequestInit = {}) =>
      fetch(server.url + path, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: typeof body === "string" ? body : JSON.stringify(body),
        ...init,
      }),
  };
}
export type TestServer = Awaited<ReturnType<typeof startTestServer>>;

export const CHAT = { model: "demo", messages: [{ role: "user", content: "hi" }] };
