import type { GrammarBuilder } from "./builder.ts";
import { FORMATS, formatBody, PATTERN_NAMES } from "./formats.ts";
import { count, MOST_REPETITIONS } from "./keyword-numbers.ts";
import type { SchemaObject, SchemaPath } from "./keywords.ts";
import { patternRule, UnsupportedPattern } from "./pattern.ts";
import { UnsupportedSchema } from "./unsupported-schema.ts";

/** The right-hand side for the strings of a schema. */
export function stringRule(grammar: GrammarBuilder, schema: SchemaObject, path: SchemaPath): string {
  const { format, pattern } = schema;
  const repeats = pattern !== undefined && PATTERN_NAMES.has(format);
  if (format !== undefined && !repeats) return formatRule(grammar, schema, path);
  if (pattern !== undefined) {
    if (typeof pattern !== "string") throw new UnsupportedSchema([...path, "pattern"], "expected a string.");
    for (const length of ["minLength", "maxLength"]) {
      if (schema[length] !== undefined) {
        throw new UnsupportedSchema(
          [...path, length],
          "it is not supported beside 'pattern'; the pattern can bound the length.",
        );
      }
    }
    return `"\\"" ${convertedPattern(grammar, pattern, path)} "\\""`;
  }
  const least = count(schema, "minLength", path) ?? 0;
  const most = count(schema, "maxLength", path);
  if (most !== null && most < least)
    throw new UnsupportedSchema([...path, "maxLength"], "it is less than 'minLength'.");
  if (least === 0 && most === null) return grammar.json.string;
  return grammar.rule("string", `"\\"" ${grammar.json.char}{${least},${most ?? ""}} "\\""`);
}

function formatRule(grammar: GrammarBuilder, schema: SchemaObject, path: SchemaPath): string {
  const { format, pattern } = schema;
  if (typeof format !== "string" || !FORMATS.has(format)) {
    throw new UnsupportedSchema([...path, "format"], `supported formats are ${[...FORMATS.keys()].join(", ")}.`);
  }
  const body = formatBody(format, pattern);
  const beside = ["minLength", "maxLength"].find((keyword) => schema[keyword] !== undefined);
  if (body === null || beside !== undefined) {
    throw new UnsupportedSchema([...path, beside ?? "pattern"], "it is not supported beside 'format'.");
  }
  return `"\\"" ${grammar.rule(format, body)} "\\""`;
}

function convertedPattern(grammar: GrammarBuilder, pattern: string, path: SchemaPath): string {
  try {
    return grammar.rule(
      "pattern",
      patternRule(pattern, (set) => grammar.json.charOf(set), MOST_REPETITIONS),
    );
  } catch (error) {
    if (error instanceof UnsupportedPattern) throw new UnsupportedSchema([...path, "pattern"], error.message);
    throw error;
  }
}
