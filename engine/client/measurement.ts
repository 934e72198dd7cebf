import { programUrl } from "../../platform/installation.ts";
import type { Log } from "../../platform/log.ts";
import type { EngineConfig, ModelMeasurement } from "../protocol/config.ts";
import { EngineProcess } from "./engine-process.ts";

/** The engine process's script. */
export const WORKER = programUrl("engine/worker/main");

/** Milliseconds of a measurement: far more than a header takes. */
const LONGEST_MS = 120_000;

/**
 * The memory that a model needs and its header, read by a process that ends with the answer: the server itself opens no model.
 * Rejects when the file can't be loaded.
 */
export function measureModel(config: EngineConfig, log: Log, entry: URL | string = WORKER): Promise<ModelMeasurement> {
  return new Promise((resolve, reject) => {
    const process = new EngineProcess(entry, { type: "measure", config }, log, {
      message: (message) => {
        if (message.type === "measured") resolve(message.measurement);
        if (message.type === "failed") reject(new Error(message.message));
        void process.stop(0);
      },
      died: (reason) => {
        clearTimeout(hung);
        reject(new Error(reason));
      },
    });
    const hung = setTimeout(() => process.kill(`The file was not read within ${LONGEST_MS / 1000} s.`), LONGEST_MS);
    hung.unref();
  });
}
