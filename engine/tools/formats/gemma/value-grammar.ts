import type { GrammarBuilder } from "../../../../grammar/conversion/builder.ts";
import { literal, oneOf } from "../../../../grammar/gbnf/literal.ts";
import { isSchemaObject } from "../../../../grammar/schema/keywords.ts";
import { membersRule } from "../../syntax/members-grammar.ts";
import { textWithout } from "../../syntax/text-grammar.ts";

/** Name of a recursive rule; no other rule has it. */
const VALUE = "gemma-value";

/** The rules of Gemma's values, by JSON schema. @param quote the mark on both sides of a string */
export function valueRules(grammar: GrammarBuilder, quote: string): (schema: unknown) => string {
  const mark = literal(quote);
  const string = grammar.rule("gemma-string", `${mark} ${textWithout(grammar, quote)} ${mark}`);
  const { integer, number } = grammar.json;
  const scalars: Record<string, string> = {
    string,
    boolean: '("true" | "false")',
    integer,
    number,
    null: '"null"',
  };
  const listOf = (item: string) => `"[" (${item} ("," ${item})*)? "]"`;
  const name = "[a-zA-Z0-9_-]+";
  const map = `"{" (${name} ":" ${VALUE} ("," ${name} ":" ${VALUE})*)? "}"`;
  const any = grammar.rule(VALUE, [string, '"true" | "false" | "null"', number, listOf(VALUE), map].join(" | "));

  const rule = (schema: unknown): string => {
    if (!isSchemaObject(schema)) return any;
    const values = schema.const === undefined ? schema.enum : [schema.const];
    if (Array.isArray(values) && values.length > 0) return oneOf(values.map(written));
    const schemas = schema.anyOf ?? schema.oneOf;
    if (Array.isArray(schemas) && schemas.length > 0) return oneOf(schemas.map(rule));
    const types: unknown[] = Array.isArray(schema.type) && schema.type.length > 0 ? schema.type : [schema.type];
    return oneOf(types.map((type) => typed(type, schema)));
  };
  const typed = (type: unknown, schema: Readonly<Record<string, unknown>>): string => {
    if (type === "array") return grammar.rule("gemma-list", listOf(rule(schema.items)));
    if (type !== "object") return (typeof type === "string" ? scalars[type] : undefined) ?? any;
    if (!isSchemaObject(schema.properties)) return grammar.rule("gemma-map", map);
    const members = membersRule(schema, '","', (key, value) => `${literal(`${key}:`)} ${rule(value)}`);
    return grammar.rule("gemma-map", `"{" ${members} "}"`);
  };
  const written = (value: unknown) =>
    literal(typeof value === "string" ? quote + value + quote : JSON.stringify(value));
  return rule;
}
