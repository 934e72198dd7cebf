import { literal } from "../gbnf/literal.ts";
import { Dfa } from "../language/dfa.ts";
import { otherNames } from "../language/other-names.ts";
import type { SchemaPath } from "../schema/keywords.ts";
import { type Clause, isFree, type Part } from "../schema/part.ts";
import { enforceable } from "../schema/pattern-texts.ts";
import { NoValue, UnsupportedSchema } from "../schema/unsupported-schema.ts";
import type { Convert } from "./array-rules.ts";
import type { GrammarBuilder } from "./builder.ts";
import { ObjectShape } from "./object-shape.ts";
import { type OrderedMember, orderedRule } from "./sequence-rules.ts";

const MOST_NAMES = 1000;

/** The names that `propertyNames` allows: listed ones, those of a set, or all (null). */
export interface AllowedNames {
  listed: readonly string[] | null;
  texts: Dfa | null;
  has(name: string): boolean;
}

/**
 * The right-hand side for the objects that match all clauses: properties in the order of the schema, optional ones possibly
 * omitted, then others if they are allowed. Names that `propertyNames` lists are in the order of the list.
 */
export function objectRule(
  grammar: GrammarBuilder,
  clauses: readonly Clause[],
  path: SchemaPath,
  convert: Convert,
  allowedNames: (parts: readonly Part[]) => AllowedNames,
): string {
  const { space, comma } = grammar.json;
  const shape = new ObjectShape(clauses, grammar);
  const allowed = allowedNames(shape.propertyNames);
  if ((allowed.listed?.length ?? 0) > MOST_NAMES) {
    throw new UnsupportedSchema(shape.propertyNames[0]!.path, `there are more than ${MOST_NAMES} names.`);
  }
  const pairOf = (name: string, value: string) => grammar.rule("pair", `${name} ":" ${space} ${value}`);
  const names = [...new Set([...shape.names, ...(allowed.listed ?? [])])];
  const members = names.flatMap((name): OrderedMember[] => {
    const required = shape.required.get(name);
    const value = allowed.has(name) ? member(shape.partsOf(name), convert, required) : null;
    if (value !== null) return [{ text: pairOf(grammar.value(name), value), required: required !== undefined }];
    if (required === undefined) return [];
    throw new NoValue(required, "it names a property that the schema does not allow.");
  });
  const others = allowed.listed === null ? otherMembers(grammar, shape, names, allowed.texts, convert, pairOf) : null;
  if (names.length === 0 && others === ANY && shape.least === 0 && shape.most === null) return grammar.json.object;
  const pair = others === ANY ? pairOf(otherNames(grammar, names), grammar.json.value) : others;
  const rule = orderedRule(grammar, members, { others: pair, comma, least: shape.least, most: shape.most });
  if (rule === null && pair !== null && (shape.most === null || shape.most >= shape.least)) {
    const reason =
      "names that are not listed may be equal, so that only one more than the listed ones can be required.";
    throw new UnsupportedSchema([...path, "minProperties"], reason);
  }
  if (rule === null) throw new NoValue([...path, "minProperties"], "the schema allows fewer properties.");
  return grammar.rule("object", `"{" ${space} ${rule} ${space} "}"`);
}

/** Members of any name and any value. */
const ANY = Symbol("any");

/** @returns null for a property that no value can have */
function member(parts: Part[] | null, convert: Convert, required: SchemaPath | undefined): string | null {
  if (parts === null) return null;
  try {
    return convert(parts);
  } catch (error) {
    if (error instanceof NoValue && required === undefined) return null;
    throw error;
  }
}

/** The right-hand side of members besides the named ones; null if there are none. */
function otherMembers(
  grammar: GrammarBuilder,
  shape: ObjectShape,
  names: readonly string[],
  allowed: Dfa | null,
  convert: Convert,
  pairOf: (name: string, value: string) => string,
): string | typeof ANY | null {
  const pairs: string[] = [];
  for (const { texts, parts, path } of shape.sets()) {
    if (texts === null && allowed === null && parts.every(({ schema }) => isFree(schema))) return ANY;
    const value = member(parts, convert, undefined);
    if (value === null) continue;
    if (texts === null && allowed === null) {
      pairs.push(pairOf(otherNames(grammar, names), value));
      continue;
    }
    const at = path ?? shape.propertyNames[0]?.path ?? [];
    const rest = enforceable(at, () => {
      const limited = texts === null ? allowed! : allowed === null ? texts : texts.and(allowed);
      return names.length === 0 ? limited : limited.and(Dfa.of(names.map(literal).join(" | "), grammar).not());
    });
    if (rest.empty) continue;
    const name = rest.rule(grammar, "name", (set) => grammar.json.charOf(set));
    pairs.push(pairOf(`"\\"" ${name} "\\""`, value));
  }
  return pairs.length === 0 ? null : pairs.length === 1 ? pairs[0]! : `(${pairs.join(" | ")})`;
}
