import { isSchemaObject, type SchemaObject } from "./json-schema.ts";

/** Whether no value can pass two of these schemas, as far as that can be told at a glance. */
export function disjoint(schemas: readonly unknown[], resolve: (schema: unknown) => unknown): boolean {
  return schemas.every((one, i) => schemas.slice(i + 1).every((other) => apart(one, other, resolve)));
}

function apart(one: unknown, other: unknown, resolve: (schema: unknown) => unknown): boolean {
  if (!isSchemaObject(one) || !isSchemaObject(other)) return false;
  const [values, others] = [valuesOf(one), valuesOf(other)];
  if (values !== null && others !== null) return !values.some((value) => others.includes(value));
  const [kinds, otherKinds] = [kindsOf(one), kindsOf(other)];
  if (kinds !== null && otherKinds !== null && !kinds.some((kind) => otherKinds.includes(kind))) return true;
  return lacks(one, other) || lacks(other, one) || tellsApart(one, other, resolve);
}

/** The values that a schema lists, as JSON. */
function valuesOf(schema: SchemaObject): string[] | null {
  if (schema.const !== undefined) return [JSON.stringify(schema.const)];
  return Array.isArray(schema.enum) ? schema.enum.map((value: unknown) => JSON.stringify(value)) : null;
}

function kindsOf(schema: SchemaObject): string[] | null {
  const values = schema.const === undefined ? schema.enum : [schema.const];
  if (Array.isArray(values)) return values.map(kindOf);
  if (schema.type === undefined) return null;
  const types: unknown[] = Array.isArray(schema.type) ? schema.type : [schema.type];
  return types.map((type) => (type === "integer" ? "number" : String(type)));
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}

/** Whether one requires a property that the other, which is closed, does not have. */
function lacks(one: SchemaObject, other: SchemaObject): boolean {
  if (one.type !== "object" || other.type !== "object" || other.additionalProperties !== false) return false;
  const names = isSchemaObject(other.properties) ? Object.keys(other.properties) : [];
  return requiredOf(one).some((name) => !names.includes(name));
}

/** Whether both require a property, such as `kind`, whose values differ. */
function tellsApart(one: SchemaObject, other: SchemaObject, resolve: (schema: unknown) => unknown): boolean {
  if (one.type !== "object" || other.type !== "object") return false;
  const { properties } = one;
  const { properties: others } = other;
  if (!isSchemaObject(properties) || !isSchemaObject(others)) return false;
  return requiredOf(one).some((name) => {
    if (!requiredOf(other).includes(name)) return false;
    const [a, b] = [resolve(properties[name]), resolve(others[name])];
    if (!isSchemaObject(a) || !isSchemaObject(b)) return false;
    const [values, otherValues] = [valuesOf(a), valuesOf(b)];
    return values !== null && otherValues !== null && !values.some((value) => otherValues.includes(value));
  });
}

function requiredOf(schema: SchemaObject): string[] {
  return Array.isArray(schema.required) ? schema.required.filter((name) => typeof name === "string") : [];
}
