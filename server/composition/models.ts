import type { Upstream } from "../../engine/upstream/upstream.ts";
import { epochSeconds } from "../../platform/clock.ts";
import { ModelLoads } from "../admission/model-load.ts";
import type { Part } from "../lifecycle/parts.ts";
import { EngineObserverFanOut } from "../metrics/engine-observer-fan-out.ts";
import { watchEngines } from "../metrics/engine-state-metrics.ts";
import { OnlineUtilization } from "../metrics/online-utilization.ts";
import { configuredNames } from "../models/configured-names.ts";
import { FolderModels } from "../models/folder/folder-models.ts";
import { ModelSet } from "../models/model-set.ts";
import { Residency } from "../models/residency.ts";
import type { ServedFiles } from "../models/served-files.ts";
import { modelsFolder } from "../models/source/models-folder.ts";
import type { ResolvedModel } from "../models/source/resolve.ts";
import { startModels } from "../models/start-models.ts";
import { unservedNames } from "../options/unserved-names.ts";
import { aliasesWithRoutes } from "../routing/configured-routes.ts";
import type { AccountingParts } from "./accounting.ts";
import type { Composition } from "./composition.ts";
import type { StorageParts } from "./storage.ts";
import { startUpstreams } from "./upstreams.ts";

export interface ModelParts {
  models: ModelSet;
  /** Brings models into memory; it is started once requests can come. */
  residency: Residency;
  loads: ModelLoads;
  utilization: OnlineUtilization;
  servedFiles: ServedFiles;
  /** The models of the folder; null where they are not served. */
  folder: FolderModels | null;
  upstreams: readonly Upstream[];
  /** Resolves when each download was tried once. */
  fetched: Promise<void>;
  closeEngines(): Promise<unknown>;
}

/** One engine for each model, loading or waiting to be asked for. */
export async function startModelParts(
  composition: Composition,
  storage: StorageParts,
  accounting: AccountingParts,
): Promise<ModelParts> {
  const { options, clock, log, terminal, env, startEngine, measure, registry, metrics, parts } = composition;
  const { current } = options;
  const now = () => clock.now();
  const loads = new ModelLoads(now);
  const utilization = new OnlineUtilization(now);
  const observer = new EngineObserverFanOut([metrics, accounting.machineTime, utilization, loads]);
  const deps = { log, observer, terminal, env, created: epochSeconds(clock), startEngine, measure };
  const {
    models: served,
    shares,
    files: servedFiles,
    start,
    fetched,
  } = await parts.start({
    name: "engines",
    start: () => startModels(current, deps),
    stop: ({ models }) => closeAll(models.map(({ engine }) => engine)),
  });
  const ids = served.map(({ id }) => id);
  const more = current.serveModelsDir === "on" || current.upstream.length > 0;
  const models = new ModelSet(
    served,
    configuredNames({ ...current, alias: aliasesWithRoutes(current, ids) }, ids, more),
  );
  const engines = served.map(({ engine }) => engine);
  models.added(({ engine }) => engines.push(engine));
  watchEngines(registry, engines);
  const residency = new Residency({
    engines,
    // Read at each use: a model that has to be downloaded is measured later.
    budgetOf: () => shares.budget,
    bytesOf: (model) => shares.bytesOf(model),
    onlineOf: (model) => loads.of(model).waiting + loads.of(model).running,
    keepAliveMs: current.keepAlive === null ? null : current.keepAlive * 1000,
    now,
  });
  models.added(({ engine, upstream }) => {
    if (upstream === undefined) residency.add(engine);
  });
  const plan = (model: ResolvedModel) => shares.plan(model);
  const folderDeps = { folder: modelsFolder(current), models, files: servedFiles, plan, start, now, log };
  const created = () => epochSeconds(clock);
  const folder =
    current.serveModelsDir === "on"
      ? await parts.start(folderPart(new FolderModels({ ...folderDeps, created })))
      : null;
  if (folder !== null) models.searchBy(folder);
  const upstreams = await startUpstreams(composition, storage, accounting, models);
  for (const sentence of unservedNames(current, models.expected)) log.warn({}, sentence);
  const closeEngines = () => closeAll(engines);
  return { models, residency, loads, utilization, servedFiles, folder, upstreams, fetched, closeEngines };
}

function folderPart(folder: FolderModels): Part<FolderModels> {
  return {
    name: "model folder",
    start: () => folder.scan().then(() => folder),
    stop: () => folder.stop(),
  };
}

function closeAll(engines: readonly { close(): Promise<void> }[]): Promise<unknown> {
  return Promise.all(engines.map((engine) => engine.close()));
}
