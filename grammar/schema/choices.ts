import type { Work } from "../language/work.ts";
import { disjoint } from "./disjoint.ts";
import type { SchemaPath } from "./keywords.ts";
import { checkOneOf, isAtomic, negation } from "./negation.ts";
import { type Choice, type Clause, derived, type Part, within } from "./part.ts";
import { nameList, schemaList, schemaMap } from "./schema-lists.ts";
import { UnsupportedSchema } from "./unsupported-schema.ts";

/** Most schemas of a `oneOf` that may overlap: each excludes every other. */
const MOST_OVERLAPPING = 8;

type Resolve = (reference: unknown, from: Part) => Part;

/** The choices that the keywords of a clause make. @throws UnsupportedSchema */
export function choicesOf(clause: Clause, resolve: Resolve, work: Work): Choice[] {
  const { schema, path } = clause;
  const choices: Choice[] = [];
  const add = (at: SchemaPath, alternatives: Part[][]) => choices.push({ path: at, alternatives });
  const not = (negated: unknown, at: SchemaPath): Part => ({ ...derived(clause, { not: negated }), path: at });
  if (schema.anyOf !== undefined) {
    add(
      [...path, "anyOf"],
      branches(clause, "anyOf").map((branch) => [branch]),
    );
  }
  if (schema.oneOf !== undefined) add([...path, "oneOf"], exclusive(clause, resolve, work));
  if (schema.if !== undefined && (schema.then !== undefined || schema.else !== undefined)) {
    const { then = true, else: otherwise = true } = schema;
    add(
      [...path, "if"],
      [
        [within(clause, schema.if, [...path, "if"]), within(clause, then, [...path, "then"])],
        [not(schema.if, [...path, "if"]), within(clause, otherwise, [...path, "else"])],
      ],
    );
  }
  if (schema.not !== undefined && !isAtomic(schema.not)) {
    const at = [...path, "not"];
    // A negation that is derived already has the path of the keyword that it comes from.
    add(at, negation({ ...clause, schema: schema.not, path: clause.derived ? path : at }, resolve));
  }
  const depends = (name: string, at: SchemaPath, parts: readonly Part[]) => {
    const without = derived(clause, { properties: Object.fromEntries([[name, false]]) });
    add(at, [[without], [derived(clause, { required: [name] }), ...parts]]);
  };
  for (const keyword of ["dependentRequired", "dependencies", "dependentSchemas"] as const) {
    for (const [name, needed, at] of schemaMap(schema, keyword, path)) {
      const lists = keyword === "dependentRequired" || (keyword === "dependencies" && Array.isArray(needed));
      const part = lists ? derived(clause, { required: nameList(needed, at) }) : within(clause, needed, at);
      depends(name, at, [part]);
    }
  }
  return choices;
}

function branches(clause: Clause, keyword: string): Part[] {
  const list = schemaList(clause.schema, keyword, clause.path);
  if (list.length === 0) throw new UnsupportedSchema([...clause.path, keyword], "expected a list of schemas.");
  return list.map(([one, at]) => within(clause, one, at));
}

/** The alternatives of `oneOf`. Those that may overlap exclude each other. */
function exclusive(clause: Clause, resolve: Resolve, work: Work): Part[][] {
  const at = [...clause.path, "oneOf"];
  const all = branches(clause, "oneOf");
  checkOneOf(all, at);
  work.spend(all.length ** 2);
  const target = (schema: unknown) => targetOf(schema, clause, resolve);
  if (
    disjoint(
      all.map(({ schema }) => target(schema)),
      target,
    )
  )
    return all.map((branch) => [branch]);
  if (all.length > MOST_OVERLAPPING) {
    throw new UnsupportedSchema(at, `more than ${MOST_OVERLAPPING} schemas that may overlap; use 'anyOf'.`);
  }
  return all.map((branch, i) => [
    branch,
    ...all.filter((_, j) => j !== i).map(({ schema }) => ({ ...derived(clause, { not: schema }), path: at })),
  ]);
}

/** The schema behind references. */
function targetOf(schema: unknown, from: Part, resolve: Resolve): unknown {
  let at: Part = { ...from, schema };
  for (;;) {
    const { schema: found } = at;
    if (typeof found !== "object" || found === null || !("$ref" in found)) return found;
    at = resolve(found.$ref, at);
  }
}
