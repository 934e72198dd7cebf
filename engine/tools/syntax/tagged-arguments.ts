import { assertions, isSchemaObject } from "../../../grammar/schema/keywords.ts";
import type { Input, Reading } from "./input.ts";
import { escaped, jsonValue } from "./json.ts";

/** A value that was written as text, as JSON of a type that the schema of the argument allows, else as a JSON string. */
function argumentJson(text: string, schema: unknown): string {
  const types = schemaTypes(schema);
  const value = text.trim();
  const json = types.length === 1 && types[0] === "string" ? null : jsonOf(value, types);
  return json ?? JSON.stringify(text);
}

/** True if the argument is a string, so that its text can be passed on as it arrives. */
export function isText(schema: unknown): boolean {
  const types = schemaTypes(schema);
  return types.length === 1 && types[0] === "string";
}

/** True if the argument may be a string: a model writes such a value as bare text. */
export function mayBeText(schema: unknown): boolean {
  const isFree = isSchemaObject(schema) && assertions(schema).length === 0;
  return isFree || schemaTypes(schema).includes("string");
}

/** The types that a schema allows, in its alternatives too; empty if it names none. */
export function schemaTypes(schema: unknown): string[] {
  if (typeof schema !== "object" || schema === null) return [];
  if ("type" in schema) return [schema.type].flat().filter((one) => typeof one === "string");
  const alternatives = "anyOf" in schema ? schema.anyOf : "oneOf" in schema ? schema.oneOf : null;
  if (Array.isArray(alternatives)) {
    const types = alternatives.map(schemaTypes);
    return types.some((list) => list.length === 0) ? [] : types.flat();
  }
  const values = "enum" in schema ? schema.enum : "const" in schema ? [schema.const] : null;
  return Array.isArray(values) ? values.map(typeOf) : [];
}

function typeOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}

const PYTHON: Record<string, string> = { True: "true", False: "false", None: "null" };

function jsonOf(text: string, types: string[]): string | null {
  const written = PYTHON[text] ?? text;
  let value: unknown;
  try {
    value = JSON.parse(written);
  } catch {
    return null;
  }
  if (types.length === 0) return written;
  return types.some((type) => isOfType(value, type)) ? written : null;
}

function isOfType(value: unknown, type: string): boolean {
  switch (type) {
    case "integer":
      return Number.isInteger(value);
    case "array":
      return Array.isArray(value);
    case "object":
      return typeof value === "object" && value !== null && !Array.isArray(value);
    case "null":
      return value === null;
    default:
      return typeof value === type;
  }
}

/** Takes a value up to one of the marks and passes it on as JSON, a string as it arrives. @returns false without a mark */
export function* taggedValue(
  input: Input,
  ends: readonly string[],
  schema: unknown,
  pass: (text: string) => void,
): Reading<boolean> {
  if (isText(schema)) {
    pass('"');
    const end = yield* input.until(ends, (text) => pass(escaped(text)));
    if (end !== null) pass('"');
    return end !== null;
  }
  let text = "";
  const take = (piece: string) => {
    text += piece;
  };
  // A mark within a JSON string does not end the value.
  const json = yield* input.attempt(function* () {
    yield* input.space();
    return (yield* jsonValue(input, take)) && (yield* ended(input, ends));
  });
  if (!json) {
    text = "";
    if ((yield* input.until(ends, take)) === null) return false;
  }
  pass(argumentJson(text, schema));
  return true;
}

function* ended(input: Input, ends: readonly string[]): Reading<boolean> {
  for (const end of ends) if (yield* input.accepts(end)) return true;
  yield* input.space();
  for (const end of ends) if (yield* input.accepts(end)) return true;
  return false;
}
