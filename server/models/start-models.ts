import { existsSync } from "node:fs";
import type { startLocalEngine } from "../../engine/client/local-engine.ts";
import type { measureModel } from "../../engine/client/measurement.ts";
import type { Engine, EngineObserver } from "../../engine/engine.ts";
import { demoModelPath } from "../../platform/installation.ts";
import type { Log } from "../../platform/log.ts";
import type { Options } from "../options/table.ts";
import { type ProgressTerminal, startProgress } from "./download-progress.ts";
import { DownloadingEngine } from "./downloading-engine.ts";
import { MemoryMeasurement } from "./memory-measurement.ts";
import type { ServedModel } from "./model-set.ts";
import { ServedFiles } from "./served-files.ts";
import { refuseTwins } from "./source/model-name.ts";
import { parseModelValue } from "./source/model-value.ts";
import { modelsFolder } from "./source/models-folder.ts";
import { type ResolvedModel, type ResolveOptions, resolveModels } from "./source/resolve.ts";
import { readTemplateFiles } from "./source/template-files.ts";
import { UnusableModel } from "./source/unusable-model.ts";

/** Models of the folder for which memory is planned beside those of the options: at most these share it at once in full. */
const FOLDER_MODELS = 2;

export interface StartModelsDeps {
  log: Log;
  observer: EngineObserver;
  /** The terminal of download bars. */
  terminal: ProgressTerminal;
  env: Record<string, string | undefined>;
  /** Unix seconds. */
  created: number;
  startEngine: typeof startLocalEngine;
  measure: typeof measureModel;
}

export interface StartedModels {
  models: ServedModel[];
  /** The memory of each model. */
  shares: MemoryMeasurement;
  files: ServedFiles;
  /** Starts the engine of one more model, whose memory is planned. */
  start: (model: ResolvedModel) => Engine;
  /** Resolves when each download has been tried once, with or without success. */
  fetched: Promise<void>;
}

/**
 * One engine per `--model`, by default that of the demo model where there is no upstream. Model files on this machine are checked first; the memory of
 * several models is divided before the first one is loaded. Then their engines start; with a keep-alive they start on demand.
 * Remote models are downloaded one at a time, and their engines are `loading` until then. Throws OptionsError for an invalid
 * value, a duplicate name, a missing or invalid file, also of a chat template, and for models that do not fit together.
 */
export async function startModels(options: Options, deps: StartModelsDeps): Promise<StartedModels> {
  const values = localModels(options);
  const models = values.map((value) => ({ value, ...parseModelValue(value, existsSync) }));
  refuseTwins(models);
  const folder = options.serveModelsDir === "on";
  const names = models.map(({ name }) => name);
  const templates = await readTemplateFiles(options.chatTemplate, names, folder);
  const local = await resolveModels(
    models.filter((model) => model.kind === "path").map((model) => model.value),
    resolveOptions(options, deps, () => {}),
  );
  const shares = new MemoryMeasurement(models.length + (folder ? FOLDER_MODELS : 0), options, { ...deps, templates });
  await shares.enter(local);

  const start = (model: ResolvedModel) =>
    deps.startEngine(shares.config(model), {
      observer: deps.observer,
      log: deps.log,
      hangTimeoutMs: options.engineTimeout * 1000,
      first: options.keepAlive !== null && shares.mayWait(model.name) ? "unloaded" : "loading",
    });
  const files = new ServedFiles();
  // One download at a time, retries included.
  let lastDownload: Promise<unknown> = Promise.resolve();
  const firstTries: Promise<void>[] = [];
  const engines = models.map(({ name, value, adapters, ...source }): Engine => {
    const here = local.find((model) => model.name === name);
    const paths = adapters.map(({ path }) => path);
    const uri = source.kind === "remote" ? source.uri : null;
    files.add(name, { uri, paths: here === undefined ? paths : [...paths, here.path] });
    if (here !== undefined) return start(here);
    const bring = async (progress: (share: number) => void, signal: AbortSignal) => {
      const path = await fetchModel(name, value, { ...resolveOptions(options, deps, progress), signal }, deps.log);
      await shares.add({ name, path, adapters });
      return path;
    };
    const engine = new DownloadingEngine(name, {
      fetch: (progress, signal) => {
        const brought = lastDownload.then(() => bring(progress, signal));
        lastDownload = brought.catch(() => {});
        return brought;
      },
      start: (path) => start({ name, path, adapters }),
      isFinal: (error) => error instanceof UnusableModel,
    });
    firstTries.push(engine.fetched);
    return engine;
  });
  const served = engines.map((engine) => ({ id: engine.model, engine, created: deps.created }));
  return { models: served, shares, files, start, fetched: Promise.all(firstTries).then(() => {}) };
}

/** The values of --model; the demo model where nothing else is served. */
export function localModels({ model, upstream }: Pick<Options, "model" | "upstream">): readonly string[] {
  return model.length > 0 || upstream.length > 0 ? model : [`demo=${demoModelPath}`];
}

async function fetchModel(name: string, value: string, options: ResolveOptions, log: Log): Promise<string> {
  try {
    return (await resolveModels([value], options))[0]!.path;
  } catch (error) {
    if (!options.signal?.aborted) {
      const reason = error instanceof Error ? error.message : String(error);
      const next = error instanceof UnusableModel ? "SIGHUP retries it" : "it is retried";
      log.error({ model: name, reason }, `The model could not be downloaded; ${next}`);
    }
    throw error;
  }
}

function resolveOptions(options: Options, deps: StartModelsDeps, share: (share: number) => void): ResolveOptions {
  return {
    folder: modelsFolder(options),
    env: deps.env,
    offline: options.offline === "on",
    bytesPerSecond: options.downloadRate,
    log: deps.log,
    onDownload: (model) => {
      const shown = startProgress(`Downloading ${model}`, {
        terminal: deps.terminal,
        log: (line) => deps.log.info({ model }, line),
      });
      return {
        update: (done, total) => {
          shown.update(done, total);
          share(total > 0 ? done / total : 0);
        },
        end: () => shown.end(),
      };
    },
  };
}
