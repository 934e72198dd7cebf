import type { measureModel } from "../../engine/client/measurement.ts";
import type { EngineConfig, ModelNeeds } from "../../engine/protocol/config.ts";
import type { Log } from "../../platform/log.ts";
import type { Options } from "../options/table.ts";
import { engineConfig } from "./engine-config.ts";
import { MemoryPartition } from "./memory-partition.ts";
import type { ResolvedModel } from "./source/resolve.ts";

/** Of the free memory, what no model is given: prefixes that are parked, other programs. */
const LEFT_FREE = 1 / 8;

export interface MemoryMeasurementDeps {
  measure: typeof measureModel;
  log: Log;
}

/** Measures the models of a server and shares the memory out among them. One alone is not measured: it plans for itself. */
export class MemoryMeasurement {
  readonly #options: Options;
  readonly #models: number;
  readonly #deps: MemoryMeasurementDeps;
  #book: MemoryPartition | null = null;
  /** What was free before the first model was loaded. */
  #free = 0;

  /** @param models how many there are in all */
  constructor(models: number, options: Options, deps: MemoryMeasurementDeps) {
    this.#models = models;
    this.#options = options;
    this.#deps = deps;
  }

  /** What all loaded models may take together, in bytes. */
  get budget(): number {
    return this.#book?.budget ?? Number.POSITIVE_INFINITY;
  }

  /** Bytes that a model takes when it is loaded; 0 where that is not known. */
  bytesOf(id: string): number {
    return this.#book?.shareOf(id) ?? 0;
  }

  /** Whether the model may wait to be loaded: of one that can't be measured the start has to tell why. */
  mayWait(id: string): boolean {
    return this.#models === 1 || this.bytesOf(id) > 0;
  }

  /** Enters the models whose files are here. @throws OptionsError when they do not fit together */
  async enter(models: readonly ResolvedModel[]): Promise<void> {
    if (this.#models === 1) return;
    const measured = await Promise.all(models.map((model) => this.#measure(model)));
    const known = measured.flatMap((needs, i) => (needs === null ? [] : [{ id: models[i]!.name, needs }]));
    if (known.length > 0) this.#open(Math.min(...known.map(({ needs }) => needs.free))).enter(known);
  }

  /** Enters one that had to be downloaded. @throws OptionsError when it does not fit beside the others */
  async add(model: ResolvedModel): Promise<void> {
    if (this.#models === 1) return;
    const needs = await this.#measure(model);
    if (needs !== null) this.#open(needs.free).add(model.name, needs);
  }

  config(model: ResolvedModel): EngineConfig {
    const config = engineConfig(model, this.#options);
    const share = this.#book?.shareOf(model.name) ?? null;
    if (share === null) return { ...config, memory: config.memory ?? this.#options.totalMemory };
    const parking = Math.floor((this.#free * LEFT_FREE) / this.#models);
    return { ...config, memory: share, parkMemory: config.parkMemory ?? parking };
  }

  #open(free: number): MemoryPartition {
    if (this.#book !== null) return this.#book;
    this.#free = free;
    const { totalMemory, keepAlive } = this.#options;
    const budget = totalMemory ?? Math.floor(free * (1 - LEFT_FREE));
    this.#book = new MemoryPartition(budget, this.#models, keepAlive !== null);
    return this.#book;
  }

  /** Null when the file can't be loaded: its engine will tell why. */
  async #measure(model: ResolvedModel): Promise<ModelNeeds | null> {
    const config = engineConfig(model, this.#options);
    try {
      const { least, wanted, free } = await this.#deps.measure(config, this.#deps.log);
      const limit = config.memory ?? Number.POSITIVE_INFINITY;
      return { least: Math.min(least, limit), wanted: Math.min(wanted, limit), free };
    } catch (error) {
      this.#deps.log.debug({ model: model.name, err: error }, "The model could not be measured");
      return null;
    }
  }
}
