import type { NewLines } from "../../store/types/line-row.ts";
import { inputLines } from "./input-lines.ts";
import { LineValidator, type ValidateRules, type Validation } from "./line-validator.ts";

/** Lines that are stored together: some 3 ms of the store's time. */
const CHUNK = 500;

/**
 * Validates a file that is read once. `emit` then gets the lines of a valid file in chunks, one at a time. `pace` is called
 * between two lines, and may wait while other work runs.
 */
export async function validateFile(
  chunks: AsyncIterable<Uint8Array>,
  rules: ValidateRules,
  emit: (lines: NewLines) => Promise<void>,
  pace: () => Promise<void>,
): Promise<Validation> {
  const validator = new LineValidator(rules);
  for await (const lines of inputLines(chunks, rules.maxLineBytes)) {
    for (const line of lines) {
      validator.line(line);
      if (validator.over) return validator.end();
      await pace();
    }
  }
  const outcome = validator.end();
  if (outcome.valid) for (const lines of validator.index.chunks(CHUNK)) await emit(lines);
  return outcome;
}
