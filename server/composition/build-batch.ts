import { Batches } from "../../batch/api/batches.ts";
import { Jobs } from "../../batch/api/jobs.ts";
import { MessageBatches } from "../../batch/api/message-batches.ts";
import type { Residence } from "../../batch/lines/engine-capacity.ts";
import { BatchRunner } from "../../batch/run/batch-runner.ts";
import type { ShiftRules } from "../../batch/shift/shift-rules.ts";
import type { Validate } from "../../batch/validation/validation-job.ts";
import type { FileStore } from "../../files/file-store.ts";
import type { KeyRing } from "../../ledger/key-ring.ts";
import type { UsageLedger } from "../../ledger/usage-ledger.ts";
import type { RequestLimits } from "../../openapi/request-limits.ts";
import { MAX_BATCH_LINES } from "../../openapi/resources/batches.ts";
import { epochSeconds } from "../../platform/clock.ts";
import type { Log } from "../../platform/log.ts";
import { objectId } from "../../platform/object-id.ts";
import type { WallTime } from "../../platform/wall-time.ts";
import type { Store } from "../../store/store.ts";
import type { WebhookEndpoints } from "../../webhooks/endpoint.ts";
import { batchEvents } from "../../webhooks/outbox.ts";
import type { ExecuteDeps } from "../batch-lines/line-deps.ts";
import { lineExecutor } from "../batch-lines/line-executor.ts";
import type { BatchMetrics } from "../metrics/batch-metrics.ts";
import type { OnlineUtilization } from "../metrics/online-utilization.ts";
import { BackgroundRuns } from "../stored/background-runs.ts";
import { ResponseStreams } from "../stored/response-streams.ts";
import { StoredResponses } from "../stored/responses.ts";
import type { FixedBounds } from "./fixed-bounds.ts";

export interface BatchOptions extends Pick<FixedBounds, "graceMs" | "calmMs"> {
  rules: ShiftRules;
  limits: RequestLimits;
  /** Maximum bytes of one line, as of a request body. */
  maxLineBytes: number;
  lineTimeoutMs: number;
  /** Seconds from a batch's creation to its deadline. */
  windowSeconds: number;
  /** Maximum unfinished batches of one owner. */
  maxOpen: number;
}

export interface BatchDeps
  extends Pick<ExecuteDeps, "models" | "loads" | "metrics" | "grammars" | "completions" | "seal" | "randomId"> {
  residency: Residence;
  keys: Pick<KeyRing, "modelsOf">;
  store: Store;
  files: FileStore;
  ledger: UsageLedger;
  webhooks: WebhookEndpoints;
  /** Called when webhook events are in the outbox. */
  eventsQueued: () => void;
  batchMetrics: BatchMetrics;
  load: OnlineUtilization;
  validate: Validate;
  time: WallTime;
  log: Log;
  options: BatchOptions;
}

export interface BuiltBatch {
  runner: BatchRunner;
  batches: Batches;
  jobs: Jobs;
  messageBatches: MessageBatches;
  /** Background responses, which batches of one line run. */
  runs: BackgroundRuns;
  /** Their events. */
  streams: ResponseStreams;
}

/** Wires batch work; `runner.start()` starts it. */
export function buildBatch(parts: BatchDeps): BuiltBatch {
  const { store, models, time, webhooks, batchMetrics, options } = parts;
  const responses = new StoredResponses({ store, clock: time });
  const streams = new ResponseStreams({ ...parts, responses });
  const runs = new BackgroundRuns({ ...parts, responses, streams, clock: time });
  const runner = new BatchRunner({
    ...parts,
    ...options,
    clock: time,
    names: models.names,
    models: () => models.expected,
    engines: models.list().map(({ engine }) => engine),
    execute: lineExecutor({ ...parts, ...options, background: runs, clock: time }),
    responseEnd: (type, id, reason) => runs.endWith({ id, cancelled: type === "batch.cancelled", reason }),
    events: (type, batchId) =>
      batchEvents(webhooks, { id: objectId("evt_"), type, batchId, nowMs: Math.floor(time.epochMs()) }),
    modelsOf: (keyId) => parts.keys.modelsOf(keyId),
    load: (model) => parts.load.of(model),
    observer: batchMetrics,
    maxLines: MAX_BATCH_LINES,
  });
  models.added(({ engine }) => runner.add(engine));
  batchMetrics.watch({
    counts: () => store.batches.counts(),
    backlog: () => runner.backlog,
    linesInEngine: () => runner.linesInEngine,
    outlook: () => runner.outlook,
    paused: () => runner.paused,
    epochSeconds: () => epochSeconds(time),
  });
  const batches = new Batches({ ...options, store, runner, quota: runner.quota, clock: time });
  const requests = { batches, files: parts.files, maxLineBytes: options.maxLineBytes };
  return {
    runner,
    runs,
    streams,
    batches,
    jobs: new Jobs(requests),
    messageBatches: new MessageBatches({ ...requests, clock: time }),
  };
}
