import { startLocalEngine } from "../../engine/client/local-engine.ts";
import { measureModel } from "../../engine/client/measurement.ts";
import type { EngineConfig } from "../../engine/protocol/config.ts";
import { RESTART_POLICY } from "../../engine/restart-policy.ts";
import type { UpstreamConfig } from "../../engine/upstream/dialect/upstream-config.ts";
import { version } from "../../platform/installation.ts";
import type { Log } from "../../platform/log.ts";
import { startProgress } from "../models/download-progress.ts";
import { MemoryMeasurement } from "../models/memory-measurement.ts";
import { modelsFolder } from "../models/source/models-folder.ts";
import { type ResolvedModel, resolveModels } from "../models/source/resolve.ts";
import { readTemplateFiles } from "../models/source/template-files.ts";
import { localModels } from "../models/start-models.ts";
import { upstreamConfigs } from "../models/upstream-models.ts";
import type { Options } from "../options/table.ts";
import { readMachine } from "./machine.ts";
import { type DoctorReport, type ModelResult, makeReport, type UpstreamResult } from "./report.ts";
import { upstreamAdvice } from "./upstream-advice.ts";
import { checkUpstream } from "./upstream-check.ts";

/**
 * Reads the facts of the machine, then loads and closes each model as `serve` would, one at a time so that each has all free
 * memory, and asks each upstream for its models and load. Throws OptionsError for a missing or invalid model file, and for models that do not fit into memory together.
 */
export async function examine(options: Options, log: Log): Promise<DoctorReport> {
  const machine = readMachine();
  const models = await resolveModels(localModels(options), {
    folder: modelsFolder(options),
    env: process.env,
    offline: options.offline === "on",
    bytesPerSecond: options.downloadRate,
    log,
    onDownload: (model) =>
      startProgress(`Downloading ${model}`, {
        terminal: process.stderr,
        log: (line) => log.info({ model }, line),
      }),
  });
  const names = models.map(({ name }) => name);
  const templates = await readTemplateFiles(options.chatTemplate, names);
  const shares = new MemoryMeasurement(models.length, options, { measure: measureModel, log, templates });
  await shares.enter(models);
  const results: ModelResult[] = [];
  for (const model of models) results.push(await tryModel(model, shares.config(model), log));
  const upstreams = await upstreamConfigs(options, process.env);
  return makeReport(version(), machine, results, await Promise.all(upstreams.map(tryUpstream)));
}

async function tryUpstream(config: UpstreamConfig): Promise<UpstreamResult> {
  const check = await checkUpstream(config);
  return { ...check, notes: upstreamAdvice(check, config) };
}

async function tryModel(resolved: ResolvedModel, config: EngineConfig, log: Log): Promise<ModelResult> {
  const start = performance.now();
  const warnings: string[] = [];
  const engine = startLocalEngine(config, {
    observer: { step: () => {}, piece: () => {}, started: () => {}, ended: () => {}, restarted: () => {} },
    log: {
      ...{ debug: () => {}, info: () => {}, error: () => {} },
      // The engine logs its warnings about the model; here they belong into the report.
      warn: (_, message) => warnings.push(message),
    },
    // A failure to load is reported, not retried.
    restart: { ...RESTART_POLICY, maxLoads: 1 },
  });
  try {
    const facts = await engine.ready();
    const { local } = facts;
    if (local === null) throw new Error("a local engine has no local facts");
    return {
      model: resolved.name,
      ok: true,
      facts: { ...facts, local },
      loadMs: Math.round(performance.now() - start),
      warnings,
    };
  } catch (error) {
    log.debug({ model: resolved.name, err: error }, "The model could not be loaded");
    return { model: resolved.name, ok: false, reason: error instanceof Error ? error.message : String(error) };
  } finally {
    await engine.close();
  }
}
