import type { SchemaObject, SchemaPath } from "./keywords.ts";
import { UnsupportedSchema } from "./unsupported-schema.ts";

/** Most repetitions: each becomes nodes of the network. */
export const MOST_REPETITIONS = 10_000;

/** The value of a keyword for a count. @returns null if it is not given @throws UnsupportedSchema */
export function count(schema: SchemaObject, keyword: string, path: SchemaPath): number | null {
  const value = schema[keyword];
  if (value === undefined) return null;
  if (typeof value !== "number" || !Number.isInteger(value) || value < 0) {
    throw new UnsupportedSchema([...path, keyword], "expected a whole number of 0 or more.");
  }
  if (value > MOST_REPETITIONS) {
    throw new UnsupportedSchema([...path, keyword], `at most ${MOST_REPETITIONS} can be enforced.`);
  }
  return value;
}

/** The value of a keyword for a bound of numbers. @returns null if it is not given @throws UnsupportedSchema */
export function bound(schema: SchemaObject, keyword: string, path: SchemaPath): number | null {
  const value = schema[keyword];
  if (value === undefined) return null;
  if (typeof value === "number" && Number.isFinite(value)) return value;
  throw new UnsupportedSchema([...path, keyword], "expected a number.");
}
