import type { GrammarBuilder } from "./builder.ts";
import { count } from "./keyword-numbers.ts";
import type { JsonSchema, SchemaObject, SchemaPath } from "./keywords.ts";
import { UnsupportedSchema } from "./unsupported-schema.ts";

/** Converts a nested schema to a right-hand side that can be an item of a sequence. */
export type Convert = (schema: unknown, path: SchemaPath) => string;

/** The right-hand side for the arrays of a schema. */
export function arrayRule(grammar: GrammarBuilder, schema: SchemaObject, path: SchemaPath, convert: Convert): string {
  const { space, comma } = grammar.json;
  const first = firstItems(schema, path).map(([item, at]) => convert(item, at));
  const least = count(schema, "minItems", path) ?? 0;
  const most = count(schema, "maxItems", path);
  if (most !== null && most < least) throw new UnsupportedSchema([...path, "maxItems"], "it is less than 'minItems'.");
  const rest = restItems(schema, first.length > 0, least > first.length);
  const prefix = most === null ? first : first.slice(0, most);
  let items: string | null = null;
  if (rest !== false && (most === null || most > prefix.length)) {
    const item = convert(rest.schema, [...path, rest.keyword]);
    const [from, to] = [Math.max(0, least - prefix.length), most === null ? null : most - prefix.length];
    if (prefix.length > 0) {
      items = `(${comma} ${item}){${from},${to ?? ""}}`;
    } else {
      const some = `${item} (${comma} ${item}){${Math.max(0, from - 1)},${to === null ? "" : to - 1}} ${space}`;
      return grammar.rule("array", `"[" ${space} ${from === 0 ? `(${some})?` : some} "]"`);
    }
  } else if (least > prefix.length) {
    throw new UnsupportedSchema([...path, "minItems"], "the schema allows fewer items.");
  }
  // From the last item to the first: an item past the minimum may be omitted with all that follow it.
  let body = items ?? "";
  for (let i = prefix.length - 1; i >= 0; i--) {
    const item = `${i === 0 ? "" : `${comma} `}${prefix[i]} ${body}`;
    body = i >= least ? `(${item})?` : item;
  }
  return grammar.rule("array", `"[" ${space} ${body} ${prefix.length > 0 ? space : ""} "]"`);
}

function firstItems(schema: SchemaObject, path: SchemaPath): [unknown, SchemaPath][] {
  // Before 2020-12, `items` had the list.
  const keyword = Array.isArray(schema.items) ? "items" : "prefixItems";
  const list = schema[keyword] ?? [];
  if (!Array.isArray(list)) throw new UnsupportedSchema([...path, keyword], "a list of schemas is expected.");
  return list.map((item: unknown, i) => [item, [...path, keyword, i]]);
}

/** The schema of items after the listed ones; false for none. A list without it has no further items unless more are required. */
function restItems(
  schema: SchemaObject,
  listed: boolean,
  needed: boolean,
): { schema: JsonSchema | unknown; keyword: string } | false {
  const keyword = Array.isArray(schema.items) ? "additionalItems" : "items";
  const rest = schema[keyword];
  if (rest === false) return false;
  if (rest === undefined) return listed && !needed ? false : { schema: true, keyword };
  return { schema: rest, keyword };
}
