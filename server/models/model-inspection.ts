import { join } from "node:path";
import type { measureModel } from "../../engine/client/measurement.ts";
import type { ModelMeasurement } from "../../engine/protocol/config.ts";
import type { Log } from "../../platform/log.ts";
import type { Options } from "../options/table.ts";
import { engineConfig } from "./engine-config.ts";
import type { StoredModel } from "./source/models-folder.ts";

/** The header and the needs of a model, or the reason why it can't be loaded. */
export type Inspection = { measurement: ModelMeasurement } | { problem: string };

export interface ModelInspectionDeps {
  folder: string;
  options: Options;
  measure: typeof measureModel;
  log: Log;
}

/** Inspections that wait. */
const MOST_WAITING = 8;
const LONGEST_PROBLEM = 1000;

/** Reads the headers of models in the folder, each in a process that ends with the answer, one at a time. */
export class ModelInspection {
  readonly #deps: ModelInspectionDeps;
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  constructor(deps: ModelInspectionDeps) {
    this.#deps = deps;
  }

  /** Null where too many wait. */
  async inspect(model: StoredModel): Promise<Inspection | null> {
    if (model.received !== null) return { problem: "Its download has not ended." };
    if (this.#waiting >= MOST_WAITING) return null;
    this.#waiting++;
    const inspected = this.#last.then(() => this.#inspect(model));
    this.#last = inspected;
    return inspected.finally(() => this.#waiting--);
  }

  async #inspect({ name, entry }: StoredModel): Promise<Inspection> {
    const { folder, options, measure, log } = this.#deps;
    try {
      const config = engineConfig({ name, path: join(folder, entry), adapters: [] }, options, null);
      return { measurement: await measure(config, log) };
    } catch (error) {
      return { problem: (error instanceof Error ? error.message : String(error)).slice(0, LONGEST_PROBLEM) };
    }
  }
}
