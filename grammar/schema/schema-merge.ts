import { assertions, isSchemaObject, type SchemaObject, type SchemaPath } from "./keywords.ts";
import { UnsupportedSchema } from "./unsupported-schema.ts";

type Merge = (one: unknown, other: unknown) => unknown;

/** By keyword: merges two values to one that enforces both. Values of other keywords must be equal. */
const MERGES: Readonly<Record<string, Merge>> = {
  exclusiveMaximum: least,
  exclusiveMinimum: most,
  maxItems: least,
  maxLength: least,
  maximum: least,
  minItems: most,
  minLength: most,
  minimum: most,
  required: (one, other) => [...new Set([...list(one), ...list(other)])],
  enum: (one, other) => common(list(one), list(other)),
  type: (one, other) => common(types(one), types(other)),
  allOf: (one, other) => [...list(one), ...list(other)],
};

/** One schema that enforces two. @throws UnsupportedSchema if keywords cannot express that */
export function mergeSchemas(one: SchemaObject, other: SchemaObject, path: SchemaPath): SchemaObject {
  checkClosed(one, other, path);
  const merged: Record<string, unknown> = { ...one };
  for (const keyword of Object.keys(other)) {
    const value = other[keyword];
    if (!Object.hasOwn(one, keyword) || !assertions(other).includes(keyword)) merged[keyword] = value;
    else if (keyword === "properties") merged[keyword] = mergedProperties(one[keyword], value);
    else merged[keyword] = mergedValue(keyword, one[keyword], value, path);
  }
  return merged;
}

function mergedValue(keyword: string, one: unknown, other: unknown, path: SchemaPath): unknown {
  if (JSON.stringify(one) === JSON.stringify(other)) return one;
  const merge = MERGES[keyword];
  if (merge !== undefined) return merge(one, other);
  throw new UnsupportedSchema([...path, keyword], "it cannot be combined with the schema beside it.");
}

function mergedProperties(one: unknown, other: unknown): unknown {
  if (!isSchemaObject(one) || !isSchemaObject(other)) return other;
  // By entries: an assignment to `__proto__` would not create a property.
  const merged = new Map(Object.entries(one));
  for (const [name, schema] of Object.entries(other)) {
    const own = merged.get(name);
    const equal = own === undefined || JSON.stringify(own) === JSON.stringify(schema);
    merged.set(name, equal ? schema : { allOf: [own, schema] });
  }
  return Object.fromEntries(merged);
}

/** `additionalProperties` refers to the `properties` beside it only, and would have another meaning after a merge. */
function checkClosed(one: SchemaObject, other: SchemaObject, path: SchemaPath): void {
  const closes = (schema: SchemaObject) =>
    schema.additionalProperties !== undefined && schema.additionalProperties !== true;
  const names = (schema: SchemaObject) => (isSchemaObject(schema.properties) ? Object.keys(schema.properties) : []);
  const foreign = (closed: SchemaObject, open: SchemaObject) =>
    closes(closed) && names(open).some((name) => !names(closed).includes(name));
  if (foreign(one, other) || foreign(other, one)) {
    throw new UnsupportedSchema([...path, "additionalProperties"], "it cannot be combined with the schema beside it.");
  }
}

function least(one: unknown, other: unknown): unknown {
  return Math.min(Number(one), Number(other));
}

function most(one: unknown, other: unknown): unknown {
  return Math.max(Number(one), Number(other));
}

function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [value];
}

function common(one: unknown[], other: unknown[]): unknown[] {
  const texts = new Set(other.map((value) => JSON.stringify(value)));
  return one.filter((value) => texts.has(JSON.stringify(value)));
}

/** The types of a value; `number` includes `integer`. */
function types(value: unknown): unknown[] {
  const named = list(value);
  return named.includes("number") && !named.includes("integer") ? [...named, "integer"] : named;
}
