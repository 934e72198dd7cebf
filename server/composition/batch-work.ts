import { OwnerErasures } from "../../batch/api/owner-erasure.ts";
import { shiftRules } from "../../batch/shift/shift-rules.ts";
import { heapMbFor } from "../../batch/validation/validation-process.ts";
import type { Grammars } from "../grammar/grammar-compiler.ts";
import { BatchMetrics } from "../metrics/batch-metrics.ts";
import type { Options } from "../options/table.ts";
import type { AccountingParts } from "./accounting.ts";
import { type BatchOptions, type BuiltBatch, buildBatch } from "./build-batch.ts";
import type { Composition } from "./composition.ts";
import type { FixedBounds } from "./fixed-bounds.ts";
import type { ModelParts } from "./models.ts";
import type { StorageParts } from "./storage.ts";
import type { WebhookParts } from "./webhooks.ts";

export interface BatchParts extends BuiltBatch {
  grammars: Grammars;
  erasures: OwnerErasures;
  /** Stops batch work, the first call alone; resolves also where that fails. */
  settled(): Promise<void>;
}

/** Batches and erasures of owners, which go on where the last server ended. */
export async function startBatchWork(
  composition: Composition,
  storage: StorageParts,
  { endpoints, delivery }: WebhookParts,
  { ledger, keys, owners }: AccountingParts,
  { models, residency, loads, utilization }: ModelParts,
): Promise<BatchParts> {
  const { options, log, randomId, registry, metrics, bounds, parts, openGrammars, openValidation } = composition;
  const { store, seal, files, uploads, stored, time, sweeper } = storage;
  await parts.start({ name: "sweeper", start: () => sweeper.start(), stop: () => sweeper.stop() });
  const grammars = await parts.start({ name: "grammars", start: openGrammars, stop: (started) => started.stop() });
  const validation = await parts.start({
    name: "validation",
    start: () => openValidation({ log, heapMb: heapMbFor(options.current.maxBody) }),
    stop: (started) => started.stop(),
  });
  const built = buildBatch({
    store,
    files,
    ledger,
    keys,
    models,
    residency,
    loads,
    metrics,
    grammars,
    completions: stored.completions,
    seal,
    batchMetrics: new BatchMetrics(registry),
    load: utilization,
    webhooks: endpoints,
    eventsQueued: () => delivery.wake(),
    validate: validation.validate,
    time,
    log,
    randomId,
    options: batchOptions(options.current, bounds),
  });
  const { runner, streams, batches } = built;
  let stopping: Promise<void> | null = null;
  const stop = () => (stopping ??= runner.stop());
  const settled = () => stop().catch(() => {});
  const beginStop = () => {
    // Their responses make no progress from now on.
    streams.close();
    return settled();
  };
  await parts.start({ name: "batches", start: () => runner.start(), beginStop, stop });
  options.watch((next) => {
    const terms = batchOptions(next, bounds);
    runner.setRules(terms.rules);
    batches.setTerms(terms);
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
  await parts.start({ name: "erasures", start: () => erasures.start(), stop: () => erasures.stop() });
  return { ...built, grammars, erasures, settled };
}

function batchOptions(options: Options, { requests, graceMs, calmMs }: FixedBounds): BatchOptions {
  return {
    rules: shiftRules(options.shift, Intl.DateTimeFormat().resolvedOptions().timeZone),
    limits: { ...requests, choices: options.maxN },
    maxLineBytes: options.maxBody,
    lineTimeoutMs: options.batchLineTimeout * 1000,
    windowSeconds: options.batchWindow,
    maxOpen: options.maxOpenBatches,
    graceMs,
    calmMs,
  };
}
