import type { Work } from "../language/work.ts";
import { choicesOf } from "./choices.ts";
import { assertions, isSchemaObject, type JsonSchema, type SchemaObject, UNENFORCEABLE } from "./keywords.ts";
import { type Choice, type Clause, isFree, type Part, within } from "./part.ts";
import { schemaList } from "./schema-lists.ts";
import { resolvePointer } from "./schema-reference.ts";
import { NoValue, UnsupportedSchema } from "./unsupported-schema.ts";

/** Most schemas that one value has to match. */
const MOST_PARTS = 2000;
/** Units of work for one of them, and for each reference that led to it. */
const PART = 20;

/** All that a value has to match: clauses, and one alternative of every choice. */
export interface Expansion {
  readonly clauses: readonly Clause[];
  readonly choices: readonly Choice[];
}

/**
 * Follows references and `allOf`. Their schemas come before the keywords beside them, so that the properties of a base come
 * first.
 *
 * @throws UnsupportedSchema, NoValue
 */
export function expand(root: JsonSchema, parts: readonly Part[], work: Work): Expansion {
  const clauses: Clause[] = [];
  const choices: Choice[] = [];
  let visited = 0;
  const resolve = (reference: unknown, from: Part): Part => followed(root, reference, from);
  const visit = (part: Part): void => {
    if (++visited > MOST_PARTS) throw new UnsupportedSchema(part.path, "it combines too many schemas.");
    const { schema, path, following } = part;
    work.spend(PART * (1 + following.length));
    if (schema === false) throw new NoValue(path, "no value matches 'false'.");
    if (isFree(schema)) return;
    if (!isSchemaObject(schema)) throw new UnsupportedSchema(path, "expected an object or a boolean.");
    const refused = assertions(schema).find((keyword) => UNENFORCEABLE.has(keyword));
    if (refused !== undefined) throw new UnsupportedSchema([...path, refused], "it cannot be enforced.");
    const scoped = schema.unevaluatedProperties !== undefined || schema.unevaluatedItems !== undefined;
    const outer = scoped ? { ...part, scopes: [...part.scopes, schema] } : part;
    if (schema.$ref !== undefined) visit(resolve(schema.$ref, outer));
    for (const [one, at] of schemaList(schema, "allOf", path)) visit(within(outer, one, at));
    clauses.push({ ...outer, schema });
    choices.push(...choicesOf({ ...outer, schema }, resolve, work));
  };
  for (const part of parts) visit(part);
  return { clauses: different(clauses), choices };
}

/** The target of a reference. @throws UnsupportedSchema */
export function followed(root: JsonSchema, reference: unknown, from: Part): Part {
  const { schema, path } = resolvePointer(root, reference, from.path);
  const key = String(reference);
  if (from.following.includes(key))
    throw new UnsupportedSchema([...from.path, "$ref"], "it refers to itself endlessly.");
  return { ...from, schema, path, following: [...from.following, key] };
}

/** Without repeated schemas: the same base may be referred to several times. */
export function different(clauses: readonly Clause[]): Clause[] {
  const bySchema = new Map<SchemaObject, Clause[]>();
  return clauses.filter((one) => {
    const before = bySchema.get(one.schema) ?? [];
    if (before.some((other) => other.derived === one.derived && sameScopes(one, other))) return false;
    bySchema.set(one.schema, [...before, one]);
    return true;
  });
}

function sameScopes({ scopes }: Clause, other: Clause): boolean {
  return scopes.length === other.scopes.length && scopes.every((scope, i) => scope === other.scopes[i]);
}
