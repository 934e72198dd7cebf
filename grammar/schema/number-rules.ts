import type { GrammarBuilder } from "./builder.ts";
import { bound } from "./keyword-numbers.ts";
import type { SchemaObject, SchemaPath } from "./keywords.ts";
import { type Bounds, integers, numbers } from "./number-range.ts";
import { UnsupportedSchema } from "./unsupported-schema.ts";

/** Smaller numbers are written with an exponent. */
const LEAST = 1e-6;

/** The right-hand side for the numbers of a schema, or for its integers only. */
export function numberRule(grammar: GrammarBuilder, schema: SchemaObject, path: SchemaPath, integer: boolean): string {
  const { multipleOf } = schema;
  if (multipleOf !== undefined && multipleOf !== 1) {
    throw new UnsupportedSchema([...path, "multipleOf"], "only 1 can be enforced.");
  }
  const whole = integer || multipleOf === 1;
  const bounds = boundsOf(schema, path);
  if (bounds.min === null && bounds.max === null) return whole ? grammar.json.integer : grammar.json.number;
  const body = whole ? integers(bounds) : numbers(bounds);
  if (body !== null) return grammar.rule(whole ? "integer" : "number", body);
  const keyword = ["maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum"].find(
    (key) => schema[key] !== undefined,
  )!;
  throw new UnsupportedSchema([...path, keyword], "no number is within the bounds.");
}

function boundsOf(schema: SchemaObject, path: SchemaPath): Bounds {
  for (const keyword of ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"]) {
    const value = Math.abs(Number(schema[keyword] ?? 0));
    if (value > 0 && value < LEAST)
      throw new UnsupportedSchema([...path, keyword], "it is too close to 0 to be enforced.");
  }
  const min = bound(schema, "minimum", path);
  const above = exclusive(schema, "exclusiveMinimum", path);
  const max = bound(schema, "maximum", path);
  const below = exclusive(schema, "exclusiveMaximum", path);
  const openMin = above !== null && (min === null || above >= min);
  const openMax = below !== null && (max === null || below <= max);
  return { min: openMin ? above : min, max: openMax ? below : max, openMin, openMax };
}

function exclusive(schema: SchemaObject, keyword: string, path: SchemaPath): number | null {
  // Until draft 4 of JSON Schema it was a boolean beside the bound.
  if (typeof schema[keyword] === "boolean") {
    throw new UnsupportedSchema([...path, keyword], "expected a number, as since draft 6 of JSON Schema.");
  }
  return bound(schema, keyword, path);
}
