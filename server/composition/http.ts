import { resolve } from "node:path";
import type { Express } from "express";
import { OptionsError } from "../../platform/options-error.ts";
import { createApp } from "../app.ts";
import { connectionsWithin, openFileLimit } from "../http/connection/connection-limit.ts";
import { inheritedSocket } from "../http/connection/inherited-socket.ts";
import { type Listening, listen, whyNotListening } from "../http/connection/listen.ts";
import { appOptions } from "../options/app-options.ts";
import { configuredRoutes } from "../routing/configured-routes.ts";
import { LearnedCosts } from "../routing/learned-costs.ts";
import { BackgroundResponses } from "../stored/background-responses.ts";
import type { AccountingParts } from "./accounting.ts";
import type { BatchParts } from "./batch-work.ts";
import type { Composition } from "./composition.ts";
import type { ModelFolderParts } from "./model-folder.ts";
import type { ModelParts } from "./models.ts";
import type { StorageParts } from "./storage.ts";

export interface HttpParts {
  app: Express;
  listening: Listening;
}

/**
 * The HTTP side. When it stops, running responses have --shutdown-grace to end. Then the engines close, because the clients
 * of streams that run on are sent the reason, and only then the connections. Batch work has settled by then: an engine that
 * ends while it has batch lines would count as a death of theirs.
 */
export async function startHttp(
  composition: Composition,
  { store, seal, files, uploads, stored, time }: StorageParts,
  { prices, ledger, keys, owners }: AccountingParts,
  { models, residency, loads, utilization, upstreams, closeEngines }: ModelParts,
  { grammars, runs, streams, batches, jobs, messageBatches, erasures, settled }: BatchParts,
  modelFolder: ModelFolderParts,
): Promise<HttpParts> {
  const { options, clock, random, randomId, log, metrics, version, shutdown, bounds, parts } = composition;
  const costs = await LearnedCosts.open(store, prices);
  ledger.tell(costs);
  const app = createApp({
    models,
    residency,
    loads,
    onlineShare: (model) => utilization.of(model),
    metrics,
    grammars,
    seal,
    responseState: stored.responseState,
    background: new BackgroundResponses({
      ...stored,
      state: stored.responseState,
      jobs,
      batches,
      runs,
      streams,
      clock: time,
    }),
    streams,
    store,
    files,
    uploads,
    stored,
    completions: stored.completions,
    keys,
    owners,
    erasures,
    batches,
    jobs,
    messageBatches,
    modelFolder,
    upstreams,
    ledger,
    prices,
    costs,
    log,
    clock,
    randomId,
    random,
    ending: () => shutdown.begun,
    draining: () => shutdown.draining,
    version,
    routes: configuredRoutes(
      options.current.routes,
      options.current.shift.timezone ?? Intl.DateTimeFormat().resolvedOptions().timeZone,
    ),
    options: appOptions(options, bounds),
  });
  const listening = await parts.start({
    name: "listener",
    start: () => listenOn(app, composition),
    stop: (started) =>
      started.close(options.current.shutdownGrace * 1000, async () => {
        await settled();
        await closeEngines();
      }),
  });
  // It loads and unloads nothing while responses end.
  await parts.start({ name: "residency", start: () => residency.start(), stop: () => residency.stop() });
  return { app, listening };
}

/** Rejects with OptionsError where the address can't be bound. */
async function listenOn(app: Express, { options, env, log, bounds }: Composition): Promise<Listening> {
  const { host, port, uds, maxConnections, keepAliveTimeout } = options.current;
  const path = uds === null ? null : resolve(uds);
  const fd = inheritedSocket(env, process.pid);
  if (fd !== null && path !== null) {
    throw new OptionsError("systemd passed a socket to this server: remove --uds, or the .socket unit.");
  }
  const most = connectionsWithin(openFileLimit(), maxConnections);
  if (most < maxConnections) {
    log.warn({ maxConnections: most }, "Fewer connections than --max-connections: this process may open too few files");
  }
  const { headersTimeoutMs, requestTimeoutMs } = bounds;
  try {
    return await listen(app, {
      host,
      port,
      path,
      fd,
      headersTimeoutMs,
      requestTimeoutMs,
      maxConnections: most,
      keepAliveTimeoutMs: keepAliveTimeout * 1000,
    });
  } catch (error) {
    throw new OptionsError(whyNotListening(error, { host, port, path }));
  }
}
