import type { measureModel } from "../../engine/client/measurement.ts";
import type { EngineConfig, ModelNeeds } from "../../engine/protocol/config.ts";
import type { Log } from "../../platform/log.ts";
import type { Options } from "../options/table.ts";
import { engineConfig } from "./engine-config.ts";
import { MemoryPartition } from "./memory-partition.ts";
import type { ResolvedModel } from "./source/resolve.ts";
import type { TemplateFiles } from "./source/template-files.ts";

/** Share of the free memory that no model gets: for offloaded prefixes and other programs. */
const RESERVED_SHARE = 1 / 8;

export interface MemoryMeasurementDeps {
  measure: typeof measureModel;
  log: Log;
  templates: TemplateFiles;
}

/** Measures the models of a server and divides the memory between them. A single model is not measured. */
export class MemoryMeasurement {
  readonly #options: Options;
  readonly #models: number;
  readonly #deps: MemoryMeasurementDeps;
  #partition: MemoryPartition | null = null;
  /** Bytes that were free before the first model was loaded. */
  #free = 0;

  /** @param models number of all models */
  constructor(models: number, options: Options, deps: MemoryMeasurementDeps) {
    this.#models = models;
    this.#options = options;
    this.#deps = deps;
  }

  /** Bytes that all loaded models may take together. */
  get budget(): number {
    return this.#partition?.budget ?? Number.POSITIVE_INFINITY;
  }

  /** Bytes of a loaded model; 0 if unknown. */
  bytesOf(id: string): number {
    return this.#partition?.shareOf(id) ?? 0;
  }

  /** True if the model may be loaded on demand. A model that could not be measured is loaded at start, to report the reason. */
  mayWait(id: string): boolean {
    return this.#models === 1 || this.bytesOf(id) > 0;
  }

  /** Adds the models whose files are on this machine. @throws OptionsError if they do not fit together */
  async enter(models: readonly ResolvedModel[]): Promise<void> {
    if (this.#models === 1) return;
    const measured = await Promise.all(models.map((model) => this.#measure(model)));
    const known = measured.flatMap((needs, i) => (needs === null ? [] : [{ id: models[i]!.name, needs }]));
    if (known.length > 0) this.#open(Math.min(...known.map(({ needs }) => needs.free))).enter(known);
  }

  /** Adds a downloaded model. @throws OptionsError if it does not fit beside the others */
  async add(model: ResolvedModel): Promise<void> {
    if (this.#models === 1) return;
    const needs = await this.#measure(model);
    if (needs !== null) this.#open(needs.free).add(model.name, needs);
  }

  /** Measures a model that was found later, and plans its memory. @throws Error with the reason why it can't be loaded */
  async plan(model: ResolvedModel): Promise<void> {
    const needs = await this.#needs(model);
    this.#open(needs.free).add(model.name, needs);
  }

  config(model: ResolvedModel): EngineConfig {
    const config = this.#engineConfig(model);
    const share = this.#partition?.shareOf(model.name) ?? null;
    if (share === null) return { ...config, memory: config.memory ?? this.#options.totalMemory };
    const parking = Math.floor((this.#free * RESERVED_SHARE) / this.#models);
    return { ...config, memory: share, parkMemory: config.parkMemory ?? parking };
  }

  #engineConfig(model: ResolvedModel): EngineConfig {
    return engineConfig(model, this.#options, this.#deps.templates.get(model.name) ?? null);
  }

  #open(free: number): MemoryPartition {
    if (this.#partition !== null) return this.#partition;
    this.#free = free;
    const { totalMemory, keepAlive } = this.#options;
    const budget = totalMemory ?? Math.floor(free * (1 - RESERVED_SHARE));
    this.#partition = new MemoryPartition(budget, this.#models, keepAlive !== null);
    return this.#partition;
  }

  /** Null if the file cannot be loaded; its engine reports the reason. */
  async #measure(model: ResolvedModel): Promise<ModelNeeds | null> {
    try {
      return await this.#needs(model);
    } catch (error) {
      this.#deps.log.debug({ model: model.name, err: error }, "The model could not be measured");
      return null;
    }
  }

  async #needs(model: ResolvedModel): Promise<ModelNeeds> {
    const config = this.#engineConfig(model);
    const { least, wanted, free } = await this.#deps.measure(config, this.#deps.log);
    const limit = config.memory ?? Number.POSITIVE_INFINITY;
    return { least: Math.min(least, limit), wanted: Math.min(wanted, limit), free };
  }
}
