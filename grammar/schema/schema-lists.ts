import { isSchemaObject, type SchemaObject, type SchemaPath } from "./keywords.ts";
import { UnsupportedSchema } from "./unsupported-schema.ts";

/** The schemas of a keyword that has a list of them, with their paths; empty without it. @throws UnsupportedSchema */
export function schemaList(schema: SchemaObject, keyword: string, path: SchemaPath): [unknown, SchemaPath][] {
  const list = schema[keyword] ?? [];
  if (!Array.isArray(list)) throw new UnsupportedSchema([...path, keyword], "expected a list of schemas.");
  return list.map((one: unknown, i) => [one, [...path, keyword, i]]);
}

/** The schemas of a keyword that has them by name; empty without it. @throws UnsupportedSchema */
export function schemaMap(schema: SchemaObject, keyword: string, path: SchemaPath): [string, unknown, SchemaPath][] {
  const map = schema[keyword] ?? {};
  if (!isSchemaObject(map)) throw new UnsupportedSchema([...path, keyword], "expected an object of schemas.");
  return Object.entries(map).map(([name, one]) => [name, one, [...path, keyword, name]]);
}

/** The names that a keyword lists; empty without it. @throws UnsupportedSchema */
export function nameList(value: unknown, path: SchemaPath): string[] {
  const names = value ?? [];
  if (Array.isArray(names) && names.every((name) => typeof name === "string")) return [...new Set<string>(names)];
  throw new UnsupportedSchema(path, "expected a list of names.");
}
