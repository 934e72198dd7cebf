import type { NewLine } from "../store/line-row.ts";
import { inputLines } from "./input-lines.ts";
import { type ValidateRules, type Validation, Validator } from "./validate.ts";

/** Lines that go to the database together: well under 5 ms of its time. */
const CHUNK = 100;

/** Reads an input file once. `emit` gets the lines in chunks while no bad one was seen, and may hold the reading up. */
export async function validateFile(
  chunks: AsyncIterable<Uint8Array>,
  rules: ValidateRules,
  emit: (lines: NewLine[]) => Promise<void>,
): Promise<Validation> {
  const validator = new Validator(rules);
  let ready: NewLine[] = [];
  for await (const lines of inputLines(chunks, rules.maxLineBytes)) {
    for (const line of lines) {
      const checked = validator.line(line);
      if (validator.over) return validator.end();
      if (checked !== null) ready.push(checked);
      if (ready.length === CHUNK) {
        await emit(ready);
        ready = [];
      }
    }
  }
  if (ready.length > 0) await emit(ready);
  return validator.end();
}
