import type { LiveValue } from "../../platform/live-value.ts";
import type { Parts } from "../lifecycle/parts.ts";
import { Metrics } from "../metrics/metrics.ts";
import type { Options } from "../options/table.ts";
import { type AccountingParts, makeFirstKey, startAccounting } from "./accounting.ts";
import { type BatchParts, startBatchWork } from "./batch-work.ts";
import type { Leaves } from "./composition.ts";
import { type HttpParts, startHttp } from "./http.ts";
import { startModelFolder } from "./model-folder.ts";
import { type ModelParts, startModelParts } from "./models.ts";
import { type StorageParts, startStorage } from "./storage.ts";
import { startWebhooks } from "./webhooks.ts";

export interface RunningServer extends StorageParts, AccountingParts, ModelParts, BatchParts, HttpParts {
  metrics: Metrics;
}

/**
 * Starts every part of a server; `parts` stops them in reverse. It listens before the models are loaded, so that /ready can
 * report their progress. Two things do not wait for their place in the reverse order:
 *
 * | what | when | why |
 * |---|---|---|
 * | batch work begins to stop | with the first part that stops | a batch may be writing gigabytes: that runs beside the streams |
 * | engines close | within the listener's stop | see http.ts |
 *
 * Rejects with OptionsError for faults that the user can correct; `parts.run` then stops the parts that have started.
 */
export async function startServer(options: LiveValue<Options>, leaves: Leaves, parts: Parts): Promise<RunningServer> {
  const metrics = new Metrics(leaves.registry);
  const composition = { ...leaves, options, metrics, parts };
  const storage = await startStorage(composition);
  const webhooks = await startWebhooks(composition, storage);
  const accounting = await startAccounting(composition, storage, webhooks);
  const models = await startModelParts(composition, storage, accounting);
  await makeFirstKey(composition, accounting);
  const batch = await startBatchWork(composition, storage, webhooks, accounting, models);
  const modelFolder = await startModelFolder(composition, models);
  const http = await startHttp(composition, storage, accounting, models, batch, modelFolder);
  return { ...storage, ...accounting, ...models, ...batch, ...http, metrics };
}
