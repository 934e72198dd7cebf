import { programUrl } from "../../platform/installation.ts";
import type { Log } from "../../platform/log.ts";
import type { EngineConfig, ModelNeeds } from "../protocol/config.ts";
import { EngineProcess } from "./engine-process.ts";

/** The engine process's script. */
export const WORKER = programUrl("engine/worker/main");

/**
 * The memory that a model needs, measured by a process that ends with the answer: the server itself opens no model.
 * Rejects when the file can't be loaded.
 */
export function measureModel(config: EngineConfig, log: Log, entry: URL | string = WORKER): Promise<ModelNeeds> {
  return new Promise((resolve, reject) => {
    const process = new EngineProcess(entry, { type: "measure", config }, log, {
      message: (message) => {
        if (message.type === "measured") resolve(message.needs);
        if (message.type === "failed") reject(new Error(message.message));
        void process.stop(0);
      },
      died: (reason) => reject(new Error(reason)),
    });
  });
}
