import { ASSERTIONS, isSchemaObject, type SchemaObject, type SchemaPath } from "./keywords.ts";
import { UnsupportedSchema } from "./unsupported-schema.ts";

/** Types of JSON values; `integer` is one of numbers. */
export const KINDS = ["object", "array", "string", "number", "boolean", "null"] as const;
export type Kind = (typeof KINDS)[number];
const TYPES: readonly string[] = [...KINDS, "integer"];

/** The types that the keyword `type` names; null without it. @throws UnsupportedSchema */
export function namedTypes(schema: SchemaObject, path: SchemaPath): ReadonlySet<string> | null {
  if (schema.type === undefined) return null;
  const list: unknown[] = Array.isArray(schema.type) ? schema.type : [schema.type];
  const names = list.filter((name): name is string => typeof name === "string" && TYPES.includes(name));
  if (list.length > 0 && names.length === list.length) return new Set(names);
  throw new UnsupportedSchema([...path, "type"], `expected ${TYPES.join(", ")}, or a list of these.`);
}

/** The kind of values that the keywords of a schema constrain, apart from those for any type; null if there are none. */
export function constrainedKind(schema: SchemaObject): Kind | null {
  for (const kind of ["object", "array", "string", "number"] as const) {
    if (ASSERTIONS[kind].some((keyword) => schema[keyword] !== undefined)) return kind;
  }
  return null;
}

export function kindOf(value: unknown): Kind {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (isSchemaObject(value)) return "object";
  return KINDS.find((kind) => kind === typeof value)!;
}

/** True for a value of one of the types. */
export function isOneOf(value: unknown, types: ReadonlySet<string>): boolean {
  return types.has(kindOf(value)) || (types.has("integer") && Number.isInteger(value));
}

/** A value as JSON with the members of objects in a fixed order: equal values have equal texts. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (!isSchemaObject(value)) return JSON.stringify(value === 0 ? 0 : value);
  const names = Object.keys(value).sort();
  return `{${names.map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`).join()}}`;
}
