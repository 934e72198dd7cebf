import { isSchemaObject, type SchemaObject } from "./keywords.ts";
import { canonical, kindOf } from "./value-type.ts";

/**
 * True if no value can match two of these schemas, by a simple comparison that may miss some cases. Each schema is read
 * once before pairs are compared: 256 schemas are 32,640 pairs.
 */
export function disjoint(schemas: readonly unknown[], resolve: (schema: unknown) => unknown): boolean {
  const branches = schemas.map((schema) => (isSchemaObject(schema) ? read(schema, resolve) : null));
  return branches.every((one, i) => {
    return branches.slice(i + 1).every((other) => one !== null && other !== null && apart(one, other));
  });
}

/** The properties of a schema that distinguish it from others. Values are JSON texts. */
interface Branch {
  values: ReadonlySet<string> | null;
  kinds: ReadonlySet<string> | null;
  isObject: boolean;
  required: ReadonlySet<string>;
  /** Names of all properties that it allows; null if it allows others. */
  names: ReadonlySet<string> | null;
  /** Required properties, such as `kind`, that have one of a few values. */
  marks: ReadonlyMap<string, ReadonlySet<string>>;
}

function read(schema: SchemaObject, resolve: (schema: unknown) => unknown): Branch {
  const properties = isSchemaObject(schema.properties) ? schema.properties : {};
  const required = new Set(requiredOf(schema));
  const closed = schema.additionalProperties === false && schema.patternProperties === undefined;
  const marks = [...required].flatMap((name): [string, ReadonlySet<string>][] => {
    const property = Object.hasOwn(properties, name) ? resolve(properties[name]) : null;
    const values = isSchemaObject(property) ? valuesOf(property) : null;
    return values === null ? [] : [[name, values]];
  });
  return {
    values: valuesOf(schema),
    kinds: kindsOf(schema),
    isObject: schema.type === "object",
    required,
    names: closed ? new Set(Object.keys(properties)) : null,
    marks: new Map(marks),
  };
}

function apart(one: Branch, other: Branch): boolean {
  if (one.values !== null && other.values !== null) return disjointSets(one.values, other.values);
  if (one.kinds !== null && other.kinds !== null && disjointSets(one.kinds, other.kinds)) return true;
  if (!one.isObject || !other.isObject) return false;
  return lacks(one, other) || lacks(other, one) || tellsApart(one, other);
}

/** True if the first requires a property that the second does not allow. */
function lacks({ required }: Branch, { names }: Branch): boolean {
  if (names === null) return false;
  for (const name of required) if (!names.has(name)) return true;
  return false;
}

/** True if both require a property, such as `kind`, with different values. */
function tellsApart(one: Branch, other: Branch): boolean {
  for (const [name, values] of one.marks) {
    const others = other.marks.get(name);
    if (others !== undefined && disjointSets(values, others)) return true;
  }
  return false;
}

function disjointSets(one: ReadonlySet<string>, other: ReadonlySet<string>): boolean {
  for (const value of one) if (other.has(value)) return false;
  return true;
}

/** The values that a schema lists. */
function valuesOf(schema: SchemaObject): ReadonlySet<string> | null {
  if (schema.const !== undefined) return new Set([canonical(schema.const)]);
  return Array.isArray(schema.enum) ? new Set(schema.enum.map(canonical)) : null;
}

function kindsOf(schema: SchemaObject): ReadonlySet<string> | null {
  const values = schema.const === undefined ? schema.enum : [schema.const];
  if (Array.isArray(values)) return new Set(values.map(kindOf));
  if (schema.type === undefined) return null;
  const types: unknown[] = Array.isArray(schema.type) ? schema.type : [schema.type];
  return new Set(types.map((type) => (type === "integer" ? "number" : String(type))));
}

function requiredOf(schema: SchemaObject): string[] {
  return Array.isArray(schema.required) ? schema.required.filter((name) => typeof name === "string") : [];
}
