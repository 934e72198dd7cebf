import { isSchemaObject, type SchemaObject } from "./keywords.ts";
import { isAtomic } from "./negation.ts";
import type { Clause, Part } from "./part.ts";
import { nameList } from "./schema-lists.ts";
import { NoValue, UnsupportedSchema } from "./unsupported-schema.ts";
import { canonical, constrainedKind, KINDS, type Kind, namedTypes } from "./value-type.ts";

/** Kinds of values that `not` with one keyword leaves: that keyword is failed by values of one kind only. */
const NOT_KINDS = { multipleOf: "number", pattern: "string" } as const;

/** The kinds of values, and the listed values, that clauses leave. */
export class ValueLimits {
  readonly kinds: ReadonlySet<Kind>;
  /** The values of the first list; null if the clauses have none. */
  readonly candidates: readonly unknown[] | null;
  /** Values that a `not` excludes. */
  readonly excluded: readonly unknown[];

  /** @throws NoValue if no kind of value is left */
  constructor(clauses: readonly Clause[]) {
    const lists = clauses.map(({ schema, path }) => valuesOf(schema, path)).filter((list) => list !== null);
    this.candidates = lists[0] ?? null;
    this.excluded = clauses.flatMap(({ schema, path }) => valuesOf(negated(schema), [...path, "not"]) ?? []);
    this.kinds = kindsOf(clauses);
    const typed = clauses.findLast(({ schema }) => schema.type !== undefined) ?? clauses[0];
    const at = typed === undefined ? [] : [...typed.path, ...(typed.schema.type === undefined ? [] : ["type"])];
    if (this.kinds.size === 0) throw new NoValue(at, "no type of value is left by the keywords beside it.");
  }
}

/** The keyword of `not`, where the rules of the types enforce it; else an empty schema. */
export function negated(schema: SchemaObject): SchemaObject {
  return isAtomic(schema.not) ? schema.not : {};
}

/**
 * Throws if a required property has no value by the constants of its schemas. It is a quick check without references: it
 * ends combinations of alternatives early, such as those of conditions on the same property.
 *
 * @throws NoValue
 */
export function checkConstants(clauses: readonly Clause[]): void {
  const required = new Set(clauses.flatMap(({ schema, path }) => nameList(schema.required, [...path, "required"])));
  for (const name of required) {
    const lists: string[][] = [];
    const excluded = new Set<string>();
    for (const { schema, path } of clauses) {
      if (!isSchemaObject(schema.properties) || !Object.hasOwn(schema.properties, name)) continue;
      const property = schema.properties[name];
      const at = [...path, "properties", name];
      if (property === false) throw new NoValue(at, "no value matches 'false'.");
      if (!isSchemaObject(property)) continue;
      const values = valuesOf(property, at);
      if (values !== null) lists.push(values.map(canonical));
      for (const value of valuesOf(negated(property), at) ?? []) excluded.add(canonical(value));
    }
    const left = lists[0]?.filter((value) => !excluded.has(value) && lists.every((list) => list.includes(value)));
    if (left?.length === 0) throw new NoValue([...clauses[0]!.path, "required"], `no value is left for '${name}'.`);
  }
}

function kindsOf(clauses: readonly Clause[]): Set<Kind> {
  let kinds: Kind[] = [...KINDS];
  let named = false;
  for (const { schema, path, derived } of clauses) {
    const types = namedTypes(schema, path);
    if (types !== null) kinds = kinds.filter((kind) => types.has(kind) || (kind === "number" && types.has("integer")));
    if (types !== null && !derived) named = true;
    for (const keyword of ["multipleOf", "pattern"] as const) {
      if (negated(schema)[keyword] !== undefined) kinds = kinds.filter((kind) => kind === NOT_KINDS[keyword]);
    }
  }
  if (named) return new Set(kinds);
  // Without a type, the first keyword for one type of values stands for it.
  const inferred = clauses.filter(({ derived }) => !derived).map(({ schema }) => constrainedKind(schema));
  const kind = inferred.find((one) => one !== null);
  return new Set(kind === undefined ? kinds : kinds.filter((one) => one === kind));
}

/** The values that a schema lists; null if it does not. */
function valuesOf(schema: SchemaObject, path: Part["path"]): unknown[] | null {
  if (schema.enum !== undefined && !Array.isArray(schema.enum)) {
    throw new UnsupportedSchema([...path, "enum"], "expected a list of values.");
  }
  if (schema.const !== undefined) return [schema.const];
  return schema.enum === undefined ? null : schema.enum;
}
