import { readdirSync, statSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import type { EngineConfig } from "../../protocol/config.ts";
import type { Tile } from "../cost/step-model.ts";
import type { Adapters } from "../native/adapters.ts";
import { Context } from "../native/context.ts";
import { flashAttention, mayLackFlash } from "../native/flash-attention.ts";
import type { Library } from "../native/library/library.ts";
import type { MemoryPlan } from "../native/memory-plan.ts";
import type { Model } from "../native/model.ts";
import { chooseFlash, TILE_ROWS, tileOf } from "./kernels.ts";
import { measureSteps } from "./measure.ts";
import { Probe } from "./probe.ts";
import { CalibrationRecord } from "./record.ts";
import type { FlashSetting, Sample } from "./sample.ts";

/** The settings for computing a model, and the measurements behind them. */
export interface Calibration {
  flashAttention: EngineConfig["flashAttention"];
  flash: FlashSetting;
  tile: Tile;
  /** Samples of both settings where both were timed. */
  samples: Sample[];
  /** Milliseconds of the measurement; 0 where an earlier one was read. */
  ms: number;
}

/** The model to calibrate, and its environment. */
export interface CalibrationParts {
  library: Library;
  model: Model;
  adapters: Adapters;
  config: EngineConfig;
  plan: MemoryPlan;
  threads: number;
  cellBytes: number;
  /** Free memory of the device with the cache and compute buffers, before the weights were loaded. */
  freeBytes: number;
}

const BUDGET_MS = 2000;
/** The share of the time that compute threads work at least on a dedicated machine. */
const QUIET_SHARE = 0.6;
const DEPTH = 1024;
const SEQUENCES = 4;
const LONGEST_CHUNK = 2 * TILE_ROWS;
const CELL_PADDING = 256;
/** Most bytes of one context in which steps are timed; there may be two. */
const MOST_CELL_BYTES = 128 * 1024 * 1024;

/**
 * Chooses the settings for a model that was just loaded. At its first load a few steps are timed; if that fails, the result is
 * the default.
 */
export async function calibrate(parts: CalibrationParts): Promise<Calibration> {
  const { model, config, plan, freeBytes } = parts;
  const asked = flashAttention(config, model);
  const usual = asked === "off" ? "off" : "auto";
  const both = config.flashAttention === "auto" && mayLackFlash(config, model, plan, freeBytes);
  const settings: FlashSetting[] = both ? ["auto", "off"] : [usual];
  const { samples, ms } = await recorded(parts, settings);
  const flash = both ? chooseFlash(samples, usual) : usual;
  const tile = tileOf(samples, flash, !onGpu(model) && flash === "auto");
  return { flashAttention: flash === usual ? asked : flash, flash, tile, samples, ms };
}

async function recorded(parts: CalibrationParts, settings: FlashSetting[]): Promise<{ samples: Sample[]; ms: number }> {
  const { calibrationDir } = parts.config;
  if (calibrationDir === null) return { samples: [], ms: 0 };
  const record = new CalibrationRecord(calibrationDir, identityOf(parts, settings));
  const known = record.read();
  if (known !== null) return { samples: known, ms: 0 };
  if (!record.begin()) return { samples: [], ms: 0 };
  const [begin, computed] = [performance.now(), computedMs(parts)];
  const samples = await timed(parts, settings).catch(() => null);
  const ms = performance.now() - begin;
  // While other processes use the cores, few shapes fit into the budget: the next start times them again.
  const busy = !onGpu(parts.model) && computedMs(parts) - computed < QUIET_SHARE * ms;
  record.end(busy ? null : samples);
  return { samples: samples ?? [], ms };
}

async function timed(parts: CalibrationParts, settings: FlashSetting[]): Promise<Sample[]> {
  const { library, model, adapters, config, plan, threads, cellBytes } = parts;
  const affordable = Math.floor(MOST_CELL_BYTES / cellBytes);
  const attends = model.memory === "full" || model.memory === "hybrid";
  const most = attends ? Math.min(DEPTH, plan.context, affordable - LONGEST_CHUNK) : 0;
  const depth = Math.max(0, most - (most % CELL_PADDING));
  const cells = depth + LONGEST_CHUNK;
  const sequences = cells * SEQUENCES <= affordable ? SEQUENCES : 1;
  const contexts = new Map<FlashSetting, Context>();
  try {
    for (const flash of settings) {
      const flashAttention = flash === "off" ? "off" : config.flashAttention === "on" ? "on" : "auto";
      const options = { ...config, flashAttention, stepTokens: LONGEST_CHUNK } as const;
      const room = { kv: "split", cells: sequences * cells, ids: sequences } as const;
      contexts.set(flash, new Context(library, model, adapters, options, room, threads));
    }
    const now = () => performance.now();
    const clocks = onGpu(model) ? [now] : [now, () => computedMs(parts)];
    const timers = new Map([...contexts].map(([flash, context]) => [flash, new Probe(context, clocks)]));
    return await measureSteps(timers, { depth, sequences, budgetMs: BUDGET_MS, now });
  } finally {
    for (const context of contexts.values()) context.free();
  }
}

function onGpu(model: Model): boolean {
  return model.devices.some((device) => device.kind === "gpu");
}

/** CPU milliseconds per compute thread: on a shared CPU a step takes longer than it costs. */
function computedMs({ threads }: CalibrationParts): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000 / threads;
}

/** Everything that the time of a step depends on: weights, kernels, machine and settings. */
function identityOf({ library, model, config, threads }: CalibrationParts, settings: FlashSetting[]): unknown {
  const { path, adapters, gpu, splitMode, cacheTypeK, cacheTypeV } = config;
  return [
    [path, model.description, model.bytes, modified(path), adapters],
    [
      library.build,
      library.directory,
      readdirSync(library.directory).map((name) => modified(join(library.directory, name))),
    ],
    [cpus()[0]?.model, cpus().length, model.devices.map(({ name, description }) => [name, description])],
    [threads, gpu, splitMode, cacheTypeK, cacheTypeV, settings],
  ];
}

function modified(path: string): number {
  return statSync(path).mtimeMs;
}
