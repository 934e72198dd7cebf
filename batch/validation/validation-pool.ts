import type { Validate } from "./validation-job.ts";
import { ValidationProcess, type ValidationProcessOptions } from "./validation-process.ts";

/** One shared process, and a new one for each file that is validated alone. */
export class ValidationPool {
  readonly #options: ValidationProcessOptions;
  readonly #shared: ValidationProcess;

  constructor(options: ValidationProcessOptions) {
    this.#options = options;
    this.#shared = new ValidationProcess(options);
  }

  readonly validate: Validate = async (job, take, signal) => {
    if (!job.alone) return this.#shared.validate(job, take, signal);
    const own = new ValidationProcess(this.#options);
    try {
      return await own.validate(job, take, signal);
    } finally {
      await own.stop();
    }
  };

  /** Ends the shared process; to be called when no job runs. */
  stop(): Promise<void> {
    return this.#shared.stop();
  }
}
