import type { GrammarBuilder } from "./builder.ts";
import { count } from "./keyword-numbers.ts";
import type { JsonSchema, SchemaObject, SchemaPath } from "./keywords.ts";
import { UnsupportedSchema } from "./unsupported-schema.ts";

/** Converts a schema below, to something that can stand in a sequence. */
export type Convert = (schema: unknown, path: SchemaPath) => string;

/** Arrays of a schema, as a right-hand side. */
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
    throw new UnsupportedSchema([...path, "minItems"], "there are fewer items.");
  }
  // From the last item inward: those past the least may be left out, with all that follow.
  let body = items ?? "";
  for (let i = prefix.length - 1; i >= 0; i--) {
    const item = `${i === 0 ? "" : `${comma} `}${prefix[i]} ${body}`;
    body = i >= least ? `(${item})?` : item;
  }
  return grammar.rule("array", `"[" ${space} ${body} ${prefix.length > 0 ? space : ""} "]"`);
}

function firstItems(schema: SchemaObject, path: SchemaPath): [unknown, SchemaPath][] {
  // Before 2020-12 the list stood in `items` itself.
  const keyword = Array.isArray(schema.items) ? "items" : "prefixItems";
  const list = schema[keyword] ?? [];
  if (!Array.isArray(list)) throw new UnsupportedSchema([...path, keyword], "a list of schemas is expected.");
  return list.map((item: unknown, i) => [item, [...path, keyword, i]]);
}

/** What items past the first ones are; false: there are none. After a list of first ones none, unless more are asked for. */
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
