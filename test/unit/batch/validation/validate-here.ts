import { createReadStream } from "node:fs";
import { validateFile } from "../../../../batch/validation/validate-file.ts";
import type { Validate } from "../../../../batch/validation/validation-job.ts";

/** Validates in the test's own thread, so that no build is needed. */
export const validateHere: Validate = ({ path, rules }, take, signal) =>
  validateFile(
    createReadStream(path),
    rules,
    async (lines) => {
      signal.throwIfAborted();
      await take(lines);
    },
    async () => {},
  );

/** Runs until its batch is cancelled or expires. */
export const neverValid: Validate = (_job, _take, signal) =>
  new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));
