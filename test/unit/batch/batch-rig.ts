import { readFileSync } from "node:fs";
import { Registry } from "prom-client";
import { onTestFinished, vi } from "vitest";
import { DEFAULT_SHIFT, shiftRules } from "../../../batch/shift/shift-rules.ts";
import type { Validate } from "../../../batch/validation/validation-job.ts";
import type { Engine } from "../../../engine/engine.ts";
import { type ModelNames, OWN_NAMES } from "../../../engine/model-names.ts";
import type { Caller } from "../../../ledger/key.ts";
import { DEFAULT_TIER_FACTORS, Prices } from "../../../ledger/prices.ts";
import { UsageLedger } from "../../../ledger/usage-ledger.ts";
import { DEFAULT_REQUEST_LIMITS } from "../../../openapi/request-limits.ts";
import type { Batch } from "../../../openapi/resources/batches.ts";
import { ModelLoads } from "../../../server/admission/model-load.ts";
import { type BatchOptions, buildBatch } from "../../../server/composition/build-batch.ts";
import { openFileParts } from "../../../server/composition/file-parts.ts";
import { Seal } from "../../../server/dialects/responses/sealed-text.ts";
import { BatchMetrics } from "../../../server/metrics/batch-metrics.ts";
import { Metrics } from "../../../server/metrics/metrics.ts";
import { OnlineUtilization } from "../../../server/metrics/online-utilization.ts";
import { ModelSet } from "../../../server/models/model-set.ts";
import type { Store } from "../../../store/store.ts";
import { WebhookEndpoints } from "../../../webhooks/endpoint.ts";
import { until } from "../../api/until.ts";
import { GRAMMARS_HERE } from "../server/grammar/grammars-here.ts";
import { freshFolder, testStore } from "../store/test-store.ts";
import { pass } from "./stopped-time.ts";
import { validateHere } from "./validation/validate-here.ts";

const KEPT = { ledgerDays: null, batchDays: null, fileDays: null, keyDays: null, storedDays: "off" } as const;

export const OWNER = "local";
export const CALLER: Caller = { owner: OWNER, key: null };

/**
 * A batch runner over a real store and real files, with any engine, in the test's own process. With `settled` false the wall
 * time is as at a server's start. `prepare` is called with the store before any other code uses it.
 */
export async function batchRig(
  engine: Engine,
  {
    validate = validateHere,
    names = OWN_NAMES,
    ...more
  }: Partial<BatchOptions> & { validate?: Validate; names?: ModelNames } = {},
  folder = freshFolder(),
  { settled = true, prepare = () => {} }: { settled?: boolean; prepare?: (store: Store) => void } = {},
) {
  const store = await testStore(folder);
  prepare(store);
  const lines: string[] = [];
  const note = (fields: object, message: string) => void lines.push(`${message} ${JSON.stringify(fields)}`);
  const log = { debug: note, info: note, warn: note, error: note };
  const storage = await openFileParts(
    { ...KEPT, dataDir: folder, diskReserve: 0, storageQuota: null, maxFiles: 10_000 },
    store,
    { now: () => performance.now(), epochMs: () => Date.now() },
    log,
  );
  if (settled) storage.time.check();
  const metrics = new Metrics(new Registry());
  const loads = new ModelLoads(() => performance.now());
  const ledger = new UsageLedger({
    store,
    prices: new Prices({ [engine.model]: { input: 1, cachedInput: 0.5, output: 2 } }, DEFAULT_TIER_FACTORS),
    sinks: [metrics],
    faults: metrics,
    log,
    now: () => Math.floor(storage.time.epochMs() / 1000),
  });
  let ids = 0;
  const { runner, batches } = buildBatch({
    residency: { want: () => {}, recalled: () => false },
    keys: { modelsOf: async () => null },
    eventsQueued: () => {},
    ...storage,
    store,
    ledger,
    models: new ModelSet([{ id: engine.model, engine, created: 0 }], names),
    loads,
    metrics,
    grammars: GRAMMARS_HERE,
    completions: { reserve: async () => () => {}, add: async () => {} },
    seal: new Seal(Buffer.alloc(32)),
    batchMetrics: new BatchMetrics(metrics.registry),
    load: new OnlineUtilization(() => performance.now()),
    webhooks: new WebhookEndpoints([
      {
        url: "http://127.0.0.1:9/hook",
        secret: "s",
        events: ["batch.completed", "batch.failed", "batch.expired", "batch.cancelled"],
      },
    ]),
    validate,
    log,
    randomId: () => `id${ids++}`,
    options: {
      rules: shiftRules(DEFAULT_SHIFT, "UTC"),
      limits: DEFAULT_REQUEST_LIMITS,
      maxLineBytes: 1024 * 1024,
      lineTimeoutMs: 60_000,
      windowSeconds: 86_400,
      maxOpen: 500,
      graceMs: 50,
      calmMs: 100,
      ...more,
    },
  });
  onTestFinished(() => runner.stop());
  await runner.start();

  async function upload(text: string | Uint8Array, owner = OWNER): Promise<string> {
    async function* bytes() {
      yield Buffer.from(text);
    }
    const incoming = await storage.files.write(bytes(), { reserve: false });
    const meta = { owner, purpose: "batch", filename: "in.jsonl", expiresAfter: null } as const;
    return (await storage.files.add(incoming, meta)).id;
  }

  return {
    ...storage,
    folder,
    store,
    runner,
    batches,
    metrics,
    loads,
    lines,
    upload,
    async submit(text: string | Uint8Array, more: object = {}): Promise<string> {
      const input_file_id = await upload(text);
      const body = { input_file_id, endpoint: "/v1/chat/completions", completion_window: "24h", ...more };
      return (await batches.create(CALLER, body, null)).id;
    },
    async submitAs(owner: string, text: string): Promise<string> {
      const input_file_id = await upload(text, owner);
      const body = { input_file_id, endpoint: "/v1/chat/completions", completion_window: "24h" };
      return (await batches.create({ owner, key: null }, body, null)).id;
    },
    get: (id: string) => batches.get(OWNER, id),
    async reaches(id: string, status: Batch["status"]): Promise<Batch> {
      let batch = await batches.get(OWNER, id);
      await until(`${id} to be ${status}`, async () => {
        if (vi.isFakeTimers()) await pass(1);
        batch = await batches.get(OWNER, id);
        return batch.status === status;
      }).catch((error: unknown) => {
        throw new Error(`${String(error)}; it is ${JSON.stringify(batch)}\n${lines.join("\n")}`);
      });
      return batch;
    },
    /** The lines of one of a batch's files, parsed. */
    read(fileId: string | null): ResultLine[] {
      if (fileId === null) return [];
      const text = readFileSync(storage.files.pathOf(fileId), "utf8").trimEnd();
      return text.split("\n").map((line): ResultLine => JSON.parse(line));
    },
  };
}

export type BatchRig = Awaited<ReturnType<typeof batchRig>>;

export interface ResultLine {
  custom_id: string;
  response: {
    status_code: number;
    body: { nightshift?: object; error?: { code: string }; service_tier?: string };
  } | null;
  error: { code: string; message: string } | null;
}
