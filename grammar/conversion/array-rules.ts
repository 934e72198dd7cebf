import { count } from "../schema/keyword-numbers.ts";
import type { SchemaPath } from "../schema/keywords.ts";
import { type Clause, type Part, part } from "../schema/part.ts";
import { schemaList } from "../schema/schema-lists.ts";
import { NoValue, UnsupportedSchema } from "../schema/unsupported-schema.ts";
import { canonical } from "../schema/value-type.ts";
import type { GrammarBuilder } from "./builder.ts";
import { orderedRule, sequenceRule } from "./sequence-rules.ts";

/** Converts the parts of a nested value to a right-hand side that can be an item of a sequence. */
export type Convert = (parts: readonly Part[]) => string;

/** Most different items whose order is free in an array of unique items: there are rules for all of their sets. */
const MOST_UNORDERED = 8;

/** The right-hand side for one item; null if no value may be there. */
type Item = string | null;

/** The arrays that match all clauses. */
interface ArrayShape {
  /** Parts of the items with a place of their own, and of all others. */
  first: Part[][];
  rest: Part[];
  least: number;
  most: number | null;
  contains: { item: Part; least: number; most: number | null; path: SchemaPath }[];
  /** The path of `uniqueItems`; null without it. */
  unique: SchemaPath | null;
}

/**
 * The right-hand side for the arrays that match all clauses.
 *
 * @param listed the values that match parts; null if they are not listed
 */
export function arrayRule(
  grammar: GrammarBuilder,
  clauses: readonly Clause[],
  path: SchemaPath,
  convert: Convert,
  listed: (parts: readonly Part[]) => string[] | null,
): string {
  const shape = shapeOf(clauses);
  const optional = (parts: readonly Part[]): Item => {
    try {
      return convert(parts);
    } catch (error) {
      if (error instanceof NoValue) return null;
      throw error;
    }
  };
  if (shape.unique !== null && shape.most !== 0 && shape.most !== 1) {
    return uniqueItems(grammar, shape, shape.unique, listed);
  }
  const first = shape.first.map((parts) => optional(parts));
  // Only as many as may follow: the schema of the others may be one that cannot be enforced.
  const others = shape.most !== null && shape.most <= first.length ? null : optional(shape.rest);
  const end = first.indexOf(null);
  const room = end >= 0 ? end : others === null ? first.length : null;
  const most = room === null ? shape.most : Math.min(room, shape.most ?? room);
  if (most !== null && most < shape.least) {
    throw new NoValue([...path, shape.most !== null && shape.most < shape.least ? "maxItems" : "minItems"], TOO_FEW);
  }
  if (shape.contains.length > 0) return containing(grammar, { ...shape, most }, optional);
  return plainItems(grammar, { first: first as string[], others, least: shape.least, most });
}

const TOO_FEW = "the schema allows fewer items.";

function plainItems(
  grammar: GrammarBuilder,
  { first, others, least, most }: { first: string[]; others: Item; least: number; most: number | null },
): string {
  const { space, comma } = grammar.json;
  const prefix = most === null ? first : first.slice(0, most);
  let items = "";
  if (others !== null && (most === null || most > prefix.length)) {
    const [from, to] = [Math.max(0, least - prefix.length), most === null ? null : most - prefix.length];
    if (prefix.length === 0) {
      const some = `${others} (${comma} ${others}){${Math.max(0, from - 1)},${to === null ? "" : to - 1}} ${space}`;
      return grammar.rule("array", `"[" ${space} ${from === 0 ? `(${some})?` : some} "]"`);
    }
    items = `(${comma} ${others}){${from},${to ?? ""}}`;
  }
  // From the last item to the first: an item past the minimum may be omitted with all that follow it.
  let body = items;
  for (let i = prefix.length - 1; i >= 0; i--) {
    const item = `${i === 0 ? "" : `${comma} `}${prefix[i]} ${body}`;
    body = i >= least ? `(${item})?` : item;
  }
  return grammar.rule("array", `"[" ${space} ${body} ${prefix.length > 0 ? space : ""} "]"`);
}

function shapeOf(clauses: readonly Clause[]): ArrayShape {
  const shape: ArrayShape = { first: [], rest: [], least: 0, most: null, contains: [], unique: null };
  const all = [...clauses.map(itemsOf), ...clauses.flatMap((clause) => unevaluated(clause, clauses))];
  const length = Math.max(0, ...all.map(({ first }) => first.length));
  for (let i = 0; i < length; i++) shape.first.push(all.flatMap(({ first, rest }) => first[i] ?? rest ?? []));
  shape.rest = all.flatMap(({ rest }) => rest ?? []);
  for (const { schema, path } of clauses) {
    shape.least = Math.max(shape.least, count(schema, "minItems", path) ?? 0);
    const most = count(schema, "maxItems", path);
    if (most !== null) shape.most = Math.min(most, shape.most ?? most);
    if (schema.uniqueItems === true) shape.unique = [...path, "uniqueItems"];
    if (schema.contains === undefined) continue;
    const item = part(schema.contains, [...path, "contains"]);
    const [from, to] = [count(schema, "minContains", path) ?? 1, count(schema, "maxContains", path)];
    if (from > 0 || to !== null) shape.contains.push({ item, least: from, most: to, path: item.path });
  }
  // A list of first items without a schema for others has no others, unless more are required.
  if (length > 0 && all.every(({ rest }) => rest === null) && shape.least <= length) {
    shape.most = Math.min(length, shape.most ?? length);
  }
  return shape;
}

/** The parts of a clause's items; `rest` is null if the clause does not say what follows the first ones. */
interface Items {
  first: Part[];
  rest: Part | null;
}

function itemsOf({ schema, path }: Clause): Items {
  // Before 2020-12, `items` had the list.
  const legacy = Array.isArray(schema.items);
  const first = schemaList(schema, legacy ? "items" : "prefixItems", path).map(([one, at]) => part(one, at));
  const keyword = legacy ? "additionalItems" : "items";
  return { first, rest: schema[keyword] === undefined ? null : part(schema[keyword], [...path, keyword]) };
}

/** What `unevaluatedItems` says of the items that no schema beside or within its own one describes. */
function unevaluated({ schema, path }: Clause, clauses: readonly Clause[]): Items[] {
  if (schema.unevaluatedItems === undefined || schema.unevaluatedItems === true) return [];
  const beside = clauses.filter(({ scopes, derived }) => scopes.includes(schema) && !derived).map(itemsOf);
  if (beside.some(({ rest }) => rest !== null)) return [];
  const length = Math.max(0, ...beside.map(({ first }) => first.length));
  const first = Array.from({ length }, () => part(true, path));
  return [{ first, rest: part(schema.unevaluatedItems, [...path, "unevaluatedItems"]) }];
}

/** Arrays in which some items match one more schema. */
function containing(grammar: GrammarBuilder, shape: ArrayShape, optional: (parts: readonly Part[]) => Item): string {
  const { first, rest, least, most } = shape;
  const [wanted, another] = shape.contains;
  const { item, path, least: from, most: to } = wanted!;
  if (another !== undefined)
    throw new UnsupportedSchema(another.path, "it cannot be enforced beside another 'contains'.");
  const other = { ...item, schema: { not: item.schema }, derived: true };
  // Higher counts make no difference.
  const [places, finds] = [Math.max(1, first.length, least, most ?? 0), Math.max(from, to === null ? 0 : to + 1)];
  const { space, comma } = grammar.json;
  const items = sequenceRule(grammar, "items", "0 0", (state) => {
    const [index, found] = state.split(" ").map(Number) as [number, number];
    const next: [string, string][] = [];
    const add = (value: Item, count: number) => {
      if (value === null) return;
      next.push([`${index === 0 ? "" : comma} ${value}`, `${Math.min(index + 1, places)} ${Math.min(count, finds)}`]);
    };
    if (most === null || index < most) {
      const here = first[index] ?? rest;
      if (to === null || found < to) add(optional([...here, item]), found + 1);
      // Without an upper bound, any item may count as one that does not match.
      add(optional(to === null ? here : [...here, other]), found);
    }
    return { ends: index >= least && found >= from, next };
  });
  if (items === null) throw new NoValue(path, "no array has as many matching items.");
  return grammar.rule("array", `"[" ${space} ${items} ${space} "]"`);
}

/**
 * Arrays without equal items, of which each has to be one of a few values. Many values come in the order in which they are
 * listed: rules for all their sets would be too many.
 */
function uniqueItems(
  grammar: GrammarBuilder,
  { first, rest, least, most, contains }: ArrayShape,
  path: SchemaPath,
  listed: (parts: readonly Part[]) => string[] | null,
): string {
  const { space, comma } = grammar.json;
  const length = first.length + (most !== null && most <= first.length ? 0 : 1);
  // Equal objects may be listed with their members in different orders: each is written as at its first place.
  const spellings = new Map<string, string>();
  const spelled = (text: string): string => {
    const key = canonical(JSON.parse(text));
    if (!spellings.has(key)) spellings.set(key, text);
    return spellings.get(key)!;
  };
  const values = Array.from({ length }, (_, i) => listed(first[i] ?? rest)?.map(spelled));
  if (contains.length > 0 || values.some((list) => list === undefined)) {
    throw new UnsupportedSchema(
      path,
      "it can be enforced only for items with listed values ('enum', 'const', 'boolean').",
    );
  }
  const all = [...new Set(values.flatMap((list) => list ?? []))];
  const texts = all.map((text) => grammar.value(JSON.parse(text)));
  const free = all.length <= MOST_UNORDERED;
  if (!free && first.length > 0)
    throw new UnsupportedSchema(path, `at most ${MOST_UNORDERED} values beside first items.`);
  const items = free
    ? sequenceRule(grammar, "items", "0 0", (state) => {
        // The items so far, and the set of their values as bits.
        const [index, used] = state.split(" ").map(Number) as [number, number];
        const here = most !== null && index >= most ? [] : values[Math.min(index, length - 1)]!;
        const next = here.flatMap((text): [string, string][] => {
          const i = all.indexOf(text);
          if ((used & (1 << i)) !== 0) return [];
          return [[`${index === 0 ? "" : comma} ${texts[i]}`, `${index + 1} ${used | (1 << i)}`]];
        });
        return { ends: index >= least, next };
      })
    : orderedRule(
        grammar,
        texts.map((text) => ({ text, required: false })),
        { others: null, comma, least, most },
      );
  if (items === null) throw new NoValue(path, "there are fewer different values than 'minItems'.");
  return grammar.rule("array", `"[" ${space} ${items} ${space} "]"`);
}
