import { once } from "node:events";
import { Worker } from "node:worker_threads";
import type { NewLines } from "../store/line-row.ts";
import type { ValidateRules, Validation } from "./validate.ts";

export interface ValidationJob {
  path: string;
  rules: ValidateRules;
}

export type ToValidation = { type: "taken" };
export type FromValidation = { type: "lines"; lines: NewLines } | { type: "outcome"; outcome: Validation };

/**
 * Validates one input file. `take` stores a chunk of lines; several may run at once. Rejects when the file can't be
 * read, `take` rejects, or the signal aborts.
 */
export type Validate = (
  job: ValidationJob,
  take: (lines: NewLines) => Promise<void>,
  signal: AbortSignal,
) => Promise<Validation>;

/**
 * Megabytes of the thread's heap: lines of the longest kind, parsed, and a set of 50,000 long ids. A small young generation
 * keeps what is parsed and forgotten from piling up: a larger one is collected less often, and the process grows by all of it.
 */
const HEAP = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 8 };

/** In a thread of its own, so that parsing 200 MB delays no stream. */
export const validateInThread: Validate = async (job, take, signal) => {
  signal.throwIfAborted();
  const worker = new Worker(new URL("./validate-thread.js", import.meta.url), {
    workerData: job,
    name: "validation",
    resourceLimits: HEAP,
  });
  const over = once(worker, "exit");
  try {
    return await new Promise<Validation>((resolve, reject) => {
      const taken: Promise<void>[] = [];
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
      worker.on("error", reject);
      const endedEarly = () => reject(new Error("The validation's thread ended early"));
      worker.on("exit", endedEarly);
      worker.on("message", (message: FromValidation) => {
        if (message.type === "outcome") {
          worker.off("exit", endedEarly);
          Promise.all(taken).then(() => resolve(message.outcome), reject);
          return;
        }
        const taking = take(message.lines).then(() => worker.postMessage({ type: "taken" } satisfies ToValidation));
        taking.catch(reject);
        taken.push(taking);
      });
    });
  } finally {
    await worker.terminate();
    await over.catch(() => {});
  }
};
