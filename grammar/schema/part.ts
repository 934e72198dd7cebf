import { assertions, isSchemaObject, type SchemaObject, type SchemaPath } from "./keywords.ts";

/** One of the schemas that a value has to match. */
export interface Part {
  readonly schema: unknown;
  readonly path: SchemaPath;
  /** True for the negation of a schema: it names no properties that an object may have. */
  readonly derived: boolean;
  /** Schemas with `unevaluatedProperties` or `unevaluatedItems` that this one is a part of. */
  readonly scopes: readonly SchemaObject[];
  /** References followed since the beginning of the value: following one of them again would not terminate. */
  readonly following: readonly string[];
}

/** A part whose keywords concern the value itself, its members and its items, without references and combinations. */
export interface Clause extends Part {
  readonly schema: SchemaObject;
}

/** Lists of parts, one of which a value has to match. */
export interface Choice {
  readonly alternatives: readonly (readonly Part[])[];
  readonly path: SchemaPath;
}

export function part(schema: unknown, path: SchemaPath): Part {
  return { schema, path, derived: false, scopes: [], following: [] };
}

/** A part of the same value. */
export function within(outer: Part, schema: unknown, path: SchemaPath): Part {
  return { ...outer, schema, path };
}

/** A part that follows from a negation. */
export function derived(outer: Part, schema: unknown): Part {
  return { ...outer, schema, derived: true, scopes: [] };
}

/** True for a schema that allows every value. */
export function isFree(schema: unknown): boolean {
  return schema === true || (isSchemaObject(schema) && assertions(schema).length === 0);
}
