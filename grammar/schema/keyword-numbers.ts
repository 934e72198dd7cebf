import type { SchemaObject, SchemaPath } from "./keywords.ts";
import { UnsupportedSchema } from "./unsupported-schema.ts";

/** Each repetition is states of its own. */
export const MOST_REPETITIONS = 10_000;

/** The value of a keyword that counts. @returns null where it is not given @throws UnsupportedSchema */
export function count(schema: SchemaObject, keyword: string, path: SchemaPath): number | null {
  const value = schema[keyword];
  if (value === undefined) return null;
  if (typeof value !== "number" || !Number.isInteger(value) || value < 0) {
    throw new UnsupportedSchema([...path, keyword], "a whole number from 0 is expected.");
  }
  if (value > MOST_REPETITIONS) {
    throw new UnsupportedSchema([...path, keyword], `at most ${MOST_REPETITIONS} can be enforced.`);
  }
  return value;
}

/** The value of a keyword that bounds numbers. */
export function bound(schema: SchemaObject, keyword: string, path: SchemaPath): number | null {
  const value = schema[keyword];
  if (value === undefined) return null;
  if (typeof value === "number" && Number.isFinite(value)) return value;
  throw new UnsupportedSchema([...path, keyword], "a number is expected.");
}
